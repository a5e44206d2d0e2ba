#!/bin/sh
# Runs a shell in the root of make-root.sh, as the first process of mount and pid namespaces of its own. What programs write stays in memory.
set -eu
root=$1
mount --make-rprivate /
mount --bind "$root" "$root"
mount -t proc proc "$root/proc"
mount -t sysfs sysfs "$root/sys"
mount --bind /dev "$root/dev"
for folder in run tmp var/lib/docker var/lib/containers; do
  mkdir -p "$root/$folder"
  mount -t tmpfs tmpfs "$root/$folder"
done
for folder in firewalld ufw containers; do
  cp -a "$root/etc/$folder" "$root/tmp/$folder"
  mount --bind "$root/tmp/$folder" "$root/etc/$folder"
done
mount -t tmpfs tmpfs "$root/sys/fs/cgroup"
for each in cpu cpuacct memory devices freezer pids cpuset blkio; do
  mkdir "$root/sys/fs/cgroup/$each"
  mount -t cgroup -o "$each" cgroup "$root/sys/fs/cgroup/$each"
done
exec chroot "$root" sh
