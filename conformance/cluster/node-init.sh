#!/bin/sh
# The first process of a node (up.sh): private mounts and folders below $NODE_STATE, then it collects processes whose parents have ended.
set -e
read -r pid _ </proc/self/stat
mount --make-rprivate /
mount -t proc proc /proc
mount -t tmpfs -o mode=0755 tmpfs /run
mkdir -p /run/lock /run/netns
for folder in /var/lib/containerd /var/lib/kubelet /var/lib/cni /var/log/pods /var/log/containers /etc/cni /opt/cni /opt/containerd /var/lib/platnet; do
  mkdir -p "$folder" "$NODE_STATE$folder"
  mount --bind "$NODE_STATE$folder" "$folder"
done
# No server listens at this address, the node's "upstream": the machine's resolver is out of reach.
echo 'nameserver 192.168.77.1' >"$NODE_STATE/resolv.conf"
mount --bind "$NODE_STATE/resolv.conf" "$(readlink -f /etc/resolv.conf)" || mount --bind "$NODE_STATE/resolv.conf" /etc/resolv.conf
mount --make-rshared /
ip link set lo up
hostname "$NODE_HOSTNAME" # pods with hostNetwork see it, and tests compare it with the name of the Node
echo "$pid" >"$NODE_STATE/pid"
while :; do sleep 3600 & wait $! || true; done
