#!/bin/sh
# Creates the passwords for deploy/compose.yaml. It keeps existing files, because the
# database was created with them.
set -eu
cd "$(dirname "$0")"

# The files are world-readable, because each container reads its own as another user. The
# directory's mode keeps other users out.
mkdir -p secrets
chmod 0700 secrets
# Git must ignore the secrets.
echo '*' >secrets/.gitignore
umask 0022

random() { od -An -N24 -tx1 /dev/urandom | tr -d ' \n'; }

secret() { # name, content
    [ -s "secrets/$1" ] || printf '%s\n' "$2" >"secrets/$1"
}

secret postgres_password "$(random)"

# No TLS: the network "data" exists only on this machine.
secret database "postgres://petcat:$(cat secrets/postgres_password)@postgres:5432/petcat?sslmode=disable"

echo "The passwords are in deploy/compose/secrets. Keep that folder."
