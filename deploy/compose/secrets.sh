#!/bin/sh
# Makes the passwords of deploy/compose.yaml, once: files that exist stay as
# they are, because the database was made with them.
set -eu
cd "$(dirname "$0")"

# Others are kept out by the directory's mode. The files can be read by all,
# because each container mounts its own alone and reads it as another user.
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
secret valkey_password "$(random)"

# Without TLS: the network "data" exists on this machine alone.
secret database "postgres://petcat:$(cat secrets/postgres_password)@postgres:5432/petcat?sslmode=disable"
secret limiter "redis://:$(cat secrets/valkey_password)@valkey:6379"
secret valkey_password_conf "requirepass $(cat secrets/valkey_password)"

echo "deploy/compose/secrets holds the passwords; keep it"
