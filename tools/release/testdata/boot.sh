#!/bin/sh
# Starts systemd as process 1 of a copy of this machine's files, in which nothing that
# happens is seen outside, and runs a script there. Run by unshare with namespaces of its
# own. Arguments: a folder, which holds what the script finds in /test, itself among it, in
# files, and gets the script's output in the file output.
set -e
folder=$1
mount -t tmpfs copy "$folder/copy"
mkdir "$folder/copy/changes" "$folder/copy/work" "$folder/copy/root"
mount -t overlay root -o "lowerdir=/,upperdir=$folder/copy/changes,workdir=$folder/copy/work" "$folder/copy/root"
cd "$folder/copy/root"
mount -t proc proc proc
mount -t tmpfs run run
mount -t tmpfs dev dev
for device in null zero full random urandom tty; do
	touch "dev/$device"
	mount --bind "/dev/$device" "dev/$device"
done
mkdir dev/shm dev/pts
mount -t devpts -o newinstance,ptmxmode=0666 pts dev/pts
ln -s pts/ptmx dev/ptmx
ln -s /proc/self/fd dev/fd
touch dev/console
mount --bind "$folder/output" dev/console
mount -t sysfs sys sys
mount -t cgroup2 cgroup2 sys/fs/cgroup
ip link set lo up

# No service of this machine starts, and no policy of this machine keeps ours from it.
find etc/systemd/system -name '*.wants' -exec rm -rf {} +
rm -f usr/sbin/policy-rc.d etc/machine-id
echo 0123456789abcdef0123456789abcdef >etc/machine-id
mkdir -p test
cp -r "$folder/files/." test
cat >etc/systemd/system/package-test.service <<UNIT
[Unit]
DefaultDependencies=no
[Service]
Type=oneshot
StandardOutput=file:/dev/console
StandardError=inherit
TimeoutStartSec=120
ExecStart=/bin/sh -e /test/script
ExecStopPost=/bin/systemctl exit --force --force
UNIT
# Not chroot: systemd gives services a root of their own, which has to be a mount.
mkdir -p before
pivot_root . before
umount -l before
exec /usr/bin/env -i container=package-test PATH=/usr/sbin:/usr/bin:/sbin:/bin \
	/lib/systemd/systemd --system --unit=package-test.service
