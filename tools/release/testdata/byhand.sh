# Does what docs/operations.md says of an archive, with systemd as process 1.
fail() {
	echo "FAILED: $*"
	journalctl -u petcat.service -u petcat@staging.service --no-pager 2>/dev/null | tail -20 || true
	exit 1
}
is() { # WHAT GOT WANT
	[ "$2" = "$3" ] || fail "$1 is \"$2\", want \"$3\""
}
answers() { # URL
	curl -kfsS --retry 40 --retry-delay 1 --retry-all-errors -o /dev/null "$1" || fail "$1 does not answer"
}
certificate() { # DAYS
	openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN=localhost -days "$1" \
		-keyout "$live/privkey.pem" -out "$live/fullchain.pem" 2>/dev/null
}
served() { # the fingerprint
	openssl s_client -connect localhost:443 </dev/null 2>/dev/null | openssl x509 -noout -fingerprint -sha256
}
cd /test/archive

echo "== install"
. "/test/Install"
answers http://127.0.0.1:8081/readyz
is "data" "$(stat -c '%U:%G %a' /var/lib/petcat)" "petcat:petcat 700"

echo "== staging beside production"
. "/test/Staging beside production"
answers http://127.0.0.1:9081/readyz
is "staging's data" "$(stat -c '%U:%G %a' /var/lib/petcat-staging)" "petcat:petcat 700"

echo "== restore a backup"
export PETCAT_DATA=/var/lib/petcat
petcat account create acme --plan free
petcat backup /var/backups/petcat-first.backup
. "/test/Restore a backup"
is "data" "$(stat -c '%U:%G %a' /var/lib/petcat /var/lib/petcat/petcat.db | tr '\n' ' ')" "petcat:petcat 700 petcat:petcat 600 "
petcat account list --json | grep -q '"name": "acme"' || fail "the account is not there"

echo "== TLS"
live=/etc/letsencrypt/live/api.example.com
mkdir -p "$live" /etc/letsencrypt/renewal-hooks/deploy
certificate 30
. "/test/TLS"
answers https://localhost/livez
is "rights" "$(sed -n 's/^CapEff:[[:space:]]*//p' "/proc/$(systemctl show -p MainPID --value petcat.service)/status")" 0000000000000400
systemd-analyze security --threshold=15 --no-pager petcat.service >/test/security || fail "the unit is exposed more than it was"
main=$(systemctl show -p MainPID --value petcat.service)
certificate 60
RENEWED_LINEAGE=$live /etc/letsencrypt/renewal-hooks/deploy/petcat
renewed() {
	[ "$(served)" = "$(openssl x509 -noout -fingerprint -sha256 -in "$live/fullchain.pem")" ] &&
		journalctl -u petcat.service --no-pager | grep -q "the changed certificate is served"
}
for attempt in 1 2 3 4 5 6 7 8 9 10; do
	renewed && break
	[ "$attempt" != 10 ] || fail "the renewed certificate is not served, or the log does not say so"
	sleep 1
done
is "process" "$(systemctl show -p MainPID --value petcat.service)" "$main"

echo PASSED
