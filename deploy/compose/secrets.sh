#!/bin/sh
# Creates the passwords for deploy/compose.yaml, once: existing files stay as
# they are, because the database was created with them.
set -eu
cd "$(dirname "$0")"

# The directory's mode keeps other users out. The files themselves are readable by
# everybody, because each container mounts only its own and reads it as another user.
mkdir -p secrets
chmod 0700 secrets
# They must not be committed.
echo '*' >secrets/.gitignore
umask 0022

random() { od -An -N24 -tx1 /dev/urandom | tr -d ' \n'; }

secret() { # name, content
    [ -s "secrets/$1" ] || printf '%s\n' "$2" >"secrets/$1"
}

secret postgres_password "$(random)"

# No TLS: the network "data" exists only on this machine.
secret database "postgres://petcat:$(cat secrets/postgres_password)@postgres:5432/petcat?sslmode=disable"

echo "the passwords are in deploy/compose/secrets; keep that folder"
