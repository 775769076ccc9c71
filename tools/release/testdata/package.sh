# Installs, upgrades, removes and purges the package, with systemd as process 1.
export DEBIAN_FRONTEND=noninteractive
. /test/versions

fail() {
	echo "FAILED: $*"
	systemctl status petcat.service --no-pager || true
	journalctl -u petcat.service --no-pager 2>/dev/null | tail -20 || true
	exit 1
}
is() { # WHAT GOT WANT
	[ "$2" = "$3" ] || fail "$1 is \"$2\", want \"$3\""
}
state() { # ENABLED ACTIVE
	is "enabled" "$(systemctl is-enabled petcat.service 2>/dev/null)" "$1"
	is "active" "$(systemctl is-active petcat.service)" "$2"
}
answers() {
	curl -fsS --retry 40 --retry-delay 1 --retry-all-errors -o /dev/null "http://127.0.0.1:8081/readyz" || fail "it does not get ready"
}
accounts() {
	runuser -u petcat -- petcat account list --data /var/lib/petcat --json | tr -d ' \n' | grep -o '"name":"[^"]*"' | tr '\n' ' '
}
main() { systemctl show -p MainPID --value petcat.service; }

echo "== a new installation starts"
dpkg -i /test/old.deb
state enabled active
answers
is "maintainer" "$(dpkg-query -W -f '${Maintainer}' petcat)" "$MAINTAINER"
is "version" "$(petcat version | sed -n 's/^version *//p')" "$OLD"
is "data" "$(stat -c '%U:%G %a' /var/lib/petcat)" "petcat:petcat 700"
is "backups" "$(stat -c '%U:%G %a' /var/lib/petcat-backups)" "petcat:petcat 700"
is "settings" "$(stat -c '%U:%G %a' /etc/petcat/petcat.env)" "root:root 640"
is "user" "$(ps -o user= -p "$(main)")" petcat
is "restarts" "$(systemctl show -p NRestarts --value petcat.service)" 0
man -w petcat-serve >/dev/null || fail "there is no man page"
runuser -u petcat -- petcat account create acme --plan free --data /var/lib/petcat
is "accounts" "$(accounts)" '"name":"acme" '

echo "== it makes backups, and the doctor finds no problem"
backup() { ls /var/lib/petcat-backups/petcat-production-*.backup; }
for _ in $(seq 20); do
	backup >/dev/null 2>&1 && break
	sleep 1
done
runuser -u petcat -- petcat verify "$(backup)" --quiet || fail "there is no good backup"
(
	set -a
	. /etc/petcat/petcat.env
	set +a
	PETCAT_DATA=/var/lib/petcat PETCAT_BACKUP_DIR=/var/lib/petcat-backups runuser -u petcat -- petcat doctor
) || fail "the doctor finds a problem"

echo "== the unit"
systemd-analyze verify /usr/lib/systemd/system/petcat.service || fail "systemd-analyze verify"
systemd-analyze security --threshold=15 --no-pager petcat.service >/test/security || fail "the unit is exposed more than it was"

echo "== staging beside production"
! systemctl start petcat@staging.service || fail "staging starts without settings of its own"
printf 'PETCAT_LISTEN=127.0.0.1:9080\nPETCAT_ADMIN_LISTEN=127.0.0.1:9081\n' >/etc/petcat/staging.env
systemctl start petcat@staging.service
curl -fsS --retry 40 --retry-delay 1 --retry-all-errors -o /dev/null http://127.0.0.1:9081/readyz || fail "staging does not get ready"
systemd-analyze verify petcat@staging.service || fail "systemd-analyze verify"
is "staging's data" "$(stat -c '%U:%G %a' /var/lib/petcat-staging)" "petcat:petcat 700"
is "staging's backups" "$(stat -c '%U:%G %a' /var/lib/petcat-staging-backups)" "petcat:petcat 700"
is "staging's environment" "$(petcat init --environment staging --data /var/lib/petcat-staging)" "There is a staging deployment in /var/lib/petcat-staging."
is "accounts" "$(accounts)" '"name":"acme" '
! nsenter -m -t "$(systemctl show -p MainPID --value petcat@staging.service)" test -e /var/lib/petcat/petcat.db || fail "staging sees the data of production"
staging=$(systemctl show -p MainPID --value petcat@staging.service)

echo "== an upgrade restarts, and leaves settings and data alone"
echo 'PETCAT_LOG_LEVEL=warn' >>/etc/petcat/petcat.env
before=$(main)
dpkg -i /test/new.deb
state enabled active
answers
[ "$(main)" != "$before" ] || fail "it was not restarted"
is "staging" "$(systemctl is-active petcat@staging.service)" active
[ "$(systemctl show -p MainPID --value petcat@staging.service)" != "$staging" ] || fail "staging was not restarted"
is "version" "$(petcat version | sed -n 's/^version *//p')" "$NEW"
is "settings" "$(tail -1 /etc/petcat/petcat.env)" 'PETCAT_LOG_LEVEL=warn'
is "accounts" "$(accounts)" '"name":"acme" '

echo "== what is disabled stays so"
systemctl disable --now petcat.service
dpkg -i /test/new.deb
state disabled inactive
systemctl enable --now petcat.service

echo "== removed: settings and data stay"
dpkg -r petcat
is "active" "$(systemctl is-active petcat.service)" inactive
is "staging" "$(systemctl is-active petcat@staging.service)" inactive
[ ! -e /usr/bin/petcat ] || fail "the program is still there"
[ -e /etc/petcat/petcat.env ] || fail "the settings are gone"
[ -e /var/lib/petcat/petcat.db ] || fail "the data is gone"

echo "== installed again"
dpkg -i /test/new.deb
state enabled active
answers
is "accounts" "$(accounts)" '"name":"acme" '

echo "== purged: the data stays"
dpkg -P petcat | tee /test/purged
grep -q "the data in /var/lib/petcat stays" /test/purged || fail "nobody is told of the data"
is "settings that are left" "$(ls /etc/petcat)" staging.env
[ -e /var/lib/petcat/petcat.db ] || fail "the data is gone"
[ -z "$(find /etc/systemd /var/lib/systemd/deb-systemd-helper-* -name 'petcat*')" ] || fail "systemd remembers it"

echo PASSED
