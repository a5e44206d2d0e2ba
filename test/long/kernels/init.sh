#!/bin/sh
# The first process of the virtual machine: runs what /run-tests says and ends the machine.
export PATH=/platnet/node_modules/.bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs devtmpfs /dev
mkdir -p /dev/pts /dev/shm
mount -t devpts devpts /dev/pts
for folder in /dev/shm /run /tmp; do mount -t tmpfs tmpfs $folder; done
mkdir -p /var/run/netns /run/netns
# Elsewhere udev makes these; an older nft reads /dev/stdin.
ln -s /proc/self/fd /dev/fd
for number in 0:stdin 1:stdout 2:stderr; do ln -s "/proc/self/fd/${number%%:*}" "/dev/${number#*:}"; done
depmod -a
ip link set lo up
cd /platnet || exit 1
echo "kernel $(uname -r), $(nft --version), $(iptables --version)"
sh /run-tests
echo "ended with exit code $?"
sync
echo o >/proc/sysrq-trigger
sleep 60
