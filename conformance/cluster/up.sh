#!/bin/sh
# Brings a cluster of real kubelets up, in namespaces of its own: `sh up.sh`. `sh inside.sh COMMAND` runs a command on its first node,
# `sh down.sh` ends it.
#   WORK      the folder of build.sh and images.sh; state goes to $WORK/state, $WORK/node2 and $WORK/node3, logs to their folders `logs`
#   PLATNET   a checkout with node_modules
#   CONTROL   kubernetes (etcd, kube-apiserver, kube-controller-manager, kube-scheduler) or platnet (`platnet server`)
#   PLANE     platnet (`platnet agent` with proxy, policy and dns), kube (kube-proxy and CoreDNS, to compare with) or none (pods of the
#             cluster will be the plane)
#   STORAGE   1: a default storage class whose volumes are folders of the first node (provisioner.program.ts)
#   NODES     1 to 3, each in a zone of its own;  AGENT_OPTIONS, SERVER_OPTIONS  more options of ours;  CGROUP  the control group of all pods
# Each node has a network, mount, hostname and process namespace that ends with its first process. Nothing of the machine changes but its
# control groups, where all pods are below /$CGROUP.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
WORK=$(cd "$WORK" && pwd)
PLATNET=$(cd "$PLATNET" && pwd)
CGROUP=${CGROUP:-platnet-conformance} CONTROL=${CONTROL:-kubernetes} PLANE=${PLANE:-platnet} NODES=${NODES:-2}
PATH=$PATH:/usr/sbin:/sbin
export WORK PLATNET CONTROL PLANE PATH
state=$WORK/state
api=https://192.168.77.2:6443
for each in pid server.pid; do
  test ! -e "$state/$each" || { echo "conformance: $state/$each exists: run down.sh first" >&2; exit 1; }
done
rm -rf "$state" "$WORK/node2" "$WORK/node3"
others=$(seq 2 "$NODES")
mkdir -p "$state/logs"
# A cluster that does not come up is taken down.
trap 'status=$?; test "$status" = 0 || CGROUP=$CGROUP sh "$here/down.sh"; exit "$status"' EXIT

fail() { echo "conformance: $*" >&2; exit 1; }
# until_true WHAT COMMAND...: a minute at most.
until_true() { what=$1; shift; for _ in $(seq 120); do "$@" >/dev/null 2>&1 && return 0; sleep 0.5; done; fail "$what did not come"; }
# on FOLDER COMMAND...: runs a command in the namespaces of the node whose state is in FOLDER.
on() { folder=$1; shift; nsenter --target "$(cat "$folder/pid")" --mount --net --uts --pid --wd="$folder" -- "$@"; }
# start FOLDER NAME COMMAND...: starts a program there; its output is in FOLDER/logs/NAME.log.
start() {
  folder=$1 name=$2; shift 2
  setsid nsenter --target "$(cat "$folder/pid")" --mount --net --uts --pid --wd="$folder" -- "$@" >"$folder/logs/$name.log" 2>&1 </dev/null &
}
k() { sh "$here/inside.sh" kubectl --kubeconfig "$state/admin.kubeconfig" "$@"; }

# The first process of a node makes private mounts, then collects processes whose parents have ended.
make_node() { # FOLDER HOSTNAME
  mkdir -p "$1/logs"
  NODE_STATE=$1 NODE_HOSTNAME=$2 setsid unshare --net --mount --uts --pid --fork --kill-child --propagation private \
    sh "$here/node-init.sh" >"$1/logs/init.log" 2>&1 </dev/null &
  for _ in $(seq 100); do test -s "$1/pid" && break; sleep 0.1; done
  test -s "$1/pid" || { cat "$1/logs/init.log" >&2; fail "node $2 did not start"; }
}

# A LAN: a bridge in a namespace `lan` inside the first node is the router 192.168.77.1; nodes are .2 and .3. It leads nowhere else.
make_lan() {
  on "$state" sh -c '
    ip netns add lan
    ip -n lan link set lo up
    ip -n lan link add br0 type bridge; ip -n lan addr add 192.168.77.1/24 dev br0; ip -n lan link set br0 up'
}
join_lan() { # FOLDER NUMBER
  address=192.168.77.$(($2 + 1)) pid=$(cat "$1/pid") subnet=10.244.$(($2 - 1)).0/24
  # By host pids: only the machine's own process namespace sees both nodes.
  nsenter --target "$(cat "$state/pid")" --net --mount sh -c "
    ip -n lan link add lan$2 type veth peer name node$2
    ip -n lan link set lan$2 master br0; ip -n lan link set lan$2 up
    ip netns exec lan ip link set node$2 netns $pid
    ip -n lan route add $subnet via $address"
  on "$1" sh -c "
    ip link set node$2 name eth0; ip addr add $address/24 dev eth0; ip link set eth0 up; ip route add default via 192.168.77.1
    sysctl -qw net.ipv4.ip_forward=1 net.bridge.bridge-nf-call-iptables=1 net.ipv6.conf.all.forwarding=1"
}

make_node "$state" realnode
make_lan
join_lan "$state" 1
for number in $others; do
  make_node "$WORK/node$number" "realnode$number"
  join_lan "$WORK/node$number" "$number"
done
folder_of() { test "$1" = 1 && echo "$state" || echo "$WORK/node$1"; }
for from in 1 $others; do for to in 1 $others; do
  test "$from" = "$to" || on "$(folder_of "$from")" ip route add "10.244.$((to - 1)).0/24" via "192.168.77.$((to + 1))"
done; done

# One CA, the API server's certificate, and a token for each user but the agent, which has a ServiceAccount.
cd "$state"
{
  openssl req -x509 -newkey rsa:2048 -nodes -days 3650 -subj /CN=conformance-ca -keyout ca.key -out ca.crt
  openssl req -newkey rsa:2048 -nodes -subj /CN=kube-apiserver -keyout server.key -out server.csr
  printf 'subjectAltName=IP:192.168.77.2,IP:192.168.77.12,IP:192.168.77.13,IP:127.0.0.1,IP:10.96.0.1,DNS:kubernetes,DNS:kubernetes.default,DNS:kubernetes.default.svc,DNS:kubernetes.default.svc.cluster.local,DNS:localhost\n' >san
  openssl x509 -req -in server.csr -CA ca.crt -CAkey ca.key -CAcreateserial -days 3650 -extfile san -out server.crt
  openssl genrsa -out sa.key 2048
} 2>logs/openssl.log
printf '%s\n' 'admintoken,admin,1,"system:masters"' 'node1token,system:node:realnode,2,"system:nodes"' 'node2token,system:node:realnode2,3,"system:nodes"' \
  'node3token,system:node:realnode3,6,"system:nodes"' \
  'kcmtoken,system:kube-controller-manager,4,"system:masters"' 'schedtoken,system:kube-scheduler,5,"system:masters"' >tokens.csv
kubeconfig() { # FILE USER
  printf 'apiVersion: v1\nkind: Config\ncurrent-context: c\ncontexts: [{name: c, context: {cluster: c, user: u}}]\nclusters: [{name: c, cluster: {server: "%s", certificate-authority: %s}}]\nusers: [{name: u, user: {%s}}]\n' \
    "$api" "$ca" "$2" >"$1"
}

start_etcd() {
  start "$state" etcd "$WORK/bin/etcd" --data-dir "$state/etcd" --listen-client-urls http://127.0.0.1:2379 \
    --advertise-client-urls http://127.0.0.1:2379 --listen-peer-urls http://127.0.0.1:2380 --unsafe-no-fsync
}

if test "$CONTROL" = kubernetes; then
  ca=$state/ca.crt
  start_etcd
  start "$state" kube-apiserver "$WORK/bin/kube-apiserver" --etcd-servers http://127.0.0.1:2379 --secure-port 6443 \
    --advertise-address 192.168.77.2 --tls-cert-file server.crt --tls-private-key-file server.key --client-ca-file ca.crt \
    --token-auth-file tokens.csv --authorization-mode Node,RBAC --service-cluster-ip-range 10.96.0.0/12 \
    --service-account-issuer https://kubernetes.default.svc.cluster.local --service-account-key-file sa.key \
    --service-account-signing-key-file sa.key --allow-privileged --kubelet-preferred-address-types InternalIP \
    --enable-admission-plugins NodeRestriction --runtime-config 'api/all=false,api/ga=true' \
    --audit-policy-file "$here/audit.yaml" --audit-log-path "$state/logs/audit.log"
else
  case ${SERVER_OPTIONS:-} in *--etcd-servers*) start_etcd ;; esac
  # shellcheck disable=SC2086 # one word an option
  start "$state" platnet-server "$PLATNET/scripts/platnet" server --data-dir "$state/platnet" --secure-port 6443 --bind-address 0.0.0.0 \
    --dialect kubernetes --token-auth-file "$state/tokens.csv" --controller-manager-port 8080 --scheduler-port 8081 ${SERVER_OPTIONS:-}
  until_true 'the kubeconfig of platnet server' test -s "$state/platnet/admin.kubeconfig"
  sed -n 's/.*certificate-authority-data: *//p' "$state/platnet/admin.kubeconfig" | tr -d '"' | base64 -d >"$state/platnet-ca.crt"
  ca=$state/platnet-ca.crt
fi
kubeconfig admin.kubeconfig 'token: admintoken'
for number in 1 $others; do kubeconfig "node$number.kubeconfig" "token: node${number}token"; done
kubeconfig kcm.kubeconfig 'token: kcmtoken'
kubeconfig scheduler.kubeconfig 'token: schedtoken'
until_true 'the API server' k get --raw /readyz
if test "$CONTROL" = kubernetes; then
  start "$state" kube-controller-manager "$WORK/bin/kube-controller-manager" --kubeconfig kcm.kubeconfig --allocate-node-cidrs \
    --cluster-cidr 10.244.0.0/16 --service-cluster-ip-range 10.96.0.0/12 --root-ca-file ca.crt \
    --service-account-private-key-file sa.key --use-service-account-credentials --leader-elect=false \
    --cluster-signing-cert-file ca.crt --cluster-signing-key-file ca.key
  start "$state" kube-scheduler "$WORK/bin/kube-scheduler" --kubeconfig scheduler.kubeconfig --leader-elect=false
fi

# The rights of the agent are those of the manifest that operators apply; its identity is a token of that ServiceAccount.
if test "$PLANE" = platnet; then
  until_true 'the rights of the agent' k apply -f "$PLATNET/deploy/kubernetes/rbac.yaml"
  until_true 'the Service kube-dns' k apply -f "$PLATNET/deploy/kubernetes/kube-dns.yaml"
  until_true 'a token of the agent' sh -c "sh '$here/inside.sh' kubectl -n kube-system create token platnet --duration 24h >'$state/agent.token' && test -s '$state/agent.token'"
  kubeconfig agent.kubeconfig "tokenFile: $state/agent.token"
elif test "$PLANE" = kube; then
  kubeconfig proxy.kubeconfig 'token: admintoken'
fi

# The network plugins are Debian's, with the list that Platnet ships; without the agent no gate can answer and the bridge masquerades.
write_cni_list() { # FOLDER NUMBER
  mkdir -p "$1/opt/cni/bin" "$1/etc/cni/net.d"
  ln -sf /usr/lib/cni/* "$1/opt/cni/bin/"
  subnet="s#\"ranges\": \[\]#\"ranges\": [[{ \"subnet\": \"10.244.$(($2 - 1)).0/24\" }]]#"
  if test "$PLANE" = platnet; then
    ln -sf "$PLATNET/cni/platnet-gate" "$1/opt/cni/bin/"
    sed "$subnet" "$PLATNET/cni/10-platnet.conflist" >"$1/etc/cni/net.d/10-platnet.conflist"
  else
    sed -e "$subnet" -e '/platnet-gate/d' -e 's/\(portMappings.*}\),/\1/' -e 's/"ipMasq": false/"ipMasq": true/' \
      "$PLATNET/cni/10-platnet.conflist" >"$1/etc/cni/net.d/10-bridge.conflist"
  fi
}

# Against Platnet the kubelet lets in whom the cluster's roles let in; kube-apiserver shows it no certificate here.
kubelet_access() {
  if test "$CONTROL" = platnet; then
    echo "authentication: {anonymous: {enabled: false}, webhook: {enabled: true}, x509: {clientCAFile: $ca}}"
    echo 'authorization: {mode: Webhook}'
  else
    echo 'authentication: {anonymous: {enabled: true}, webhook: {enabled: false}}'
    echo 'authorization: {mode: AlwaysAllow}'
  fi
}

write_runtime_configuration() { # FOLDER CGROUP
  cat >"$1/containerd.toml" <<END
version = 2
root = "/var/lib/containerd"
state = "/run/containerd"
disabled_plugins = ["io.containerd.grpc.v1.zfs", "io.containerd.snapshotter.v1.btrfs", "io.containerd.snapshotter.v1.devmapper"]
[grpc]
address = "/run/containerd/containerd.sock"
[plugins."io.containerd.grpc.v1.cri"]
sandbox_image = "registry.k8s.io/pause:3.10.1"
restrict_oom_score_adj = true
[plugins."io.containerd.grpc.v1.cri".containerd]
snapshotter = "overlayfs"
default_runtime_name = "runc"
[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
runtime_type = "io.containerd.runc.v2"
[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
SystemdCgroup = false
[plugins."io.containerd.grpc.v1.cri".cni]
bin_dir = "/opt/cni/bin"
conf_dir = "/etc/cni/net.d"
END
  cat >"$1/kubelet.yaml" <<END
apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
$(kubelet_access)
cgroupDriver: cgroupfs
cgroupRoot: /$2
enforceNodeAllocatable: [pods]
failCgroupV1: false
failSwapOn: false
clusterDNS: [10.96.0.10]
clusterDomain: cluster.local
containerRuntimeEndpoint: unix:///run/containerd/containerd.sock
evictionHard: {memory.available: 100Mi}
imageGCHighThresholdPercent: 100
resolvConf: $1/resolv.conf
port: 10250
volumePluginDir: /var/lib/kubelet/plugins
END
}

make_control_group() { # CGROUP
  for each in /sys/fs/cgroup/*/; do mkdir -p "$each/$1" 2>/dev/null || true; done
  for each in cpuset.cpus cpuset.mems; do
    cat "/sys/fs/cgroup/cpuset/$each" >"/sys/fs/cgroup/cpuset/$1/$each" 2>/dev/null || true
  done
  # Beside many other programs, pods that share the weight of one would not answer their probes in time.
  echo 8192 2>/dev/null >"/sys/fs/cgroup/cpu/$1/cpu.shares" || true
}

start_kubelet() { # FOLDER NUMBER NAME CGROUP
  write_cni_list "$1" "$2"
  write_runtime_configuration "$1" "$4"
  make_control_group "$4"
  start "$1" containerd containerd --config "$1/containerd.toml"
  until_true containerd on "$1" ctr version
  for tar in "$WORK"/images/*.tar; do on "$1" ctr -n k8s.io images import "$tar" >>"$1/logs/images.log" 2>&1; done
  start "$1" kubelet "$WORK/bin/kubelet" --config "$1/kubelet.yaml" --kubeconfig "$state/node$2.kubeconfig" --hostname-override "$3" \
    --node-ip "192.168.77.$(($2 + 1))" --node-labels "topology.kubernetes.io/zone=zone$2" --v 2
}

# Port 10250 is the kubelet's.
start_agent() { # FOLDER NUMBER NAME
  # shellcheck disable=SC2086 # one word an option
  start "$1" platnet-agent "$PLATNET/scripts/platnet" agent --kubeconfig "$state/agent.kubeconfig" --components proxy,policy,dns \
    --node-name "$3" --node-ip "192.168.77.$(($2 + 1))" --data-dir "$1/agent" --cluster-cidr 10.244.0.0/16 --port 10350 ${AGENT_OPTIONS:-}
}
start_kube_proxy() { # FOLDER NAME
  start "$1" kube-proxy "$WORK/bin/kube-proxy" --kubeconfig "$state/proxy.kubeconfig" --hostname-override "$2" --cluster-cidr 10.244.0.0/16 \
    --proxy-mode iptables --conntrack-max-per-core 0
}

start_coredns() {
  on "$state" ip addr add 192.168.77.53/32 dev eth0
  printf '.:53 {\n bind 192.168.77.53\n errors\n health 192.168.77.53:8080\n ready 192.168.77.53:8181\n kubernetes cluster.local in-addr.arpa ip6.arpa {\n  kubeconfig %s\n  pods insecure\n  fallthrough in-addr.arpa ip6.arpa\n  ttl 30\n }\n cache 30\n loadbalance\n}\n' \
    "$state/proxy.kubeconfig" >Corefile
  start "$state" coredns "$WORK/bin/coredns" -conf "$state/Corefile"
  k apply -f "$here/kube-dns-peer.yaml" >>"$state/logs/kube-dns.log" 2>&1
}

start_plane() { # FOLDER NUMBER NAME
  case $PLANE in platnet) start_agent "$1" "$2" "$3" ;; kube) start_kube_proxy "$1" "$3" ;; esac
}

# As in clusters of one node, a volume is made where the first pod of its claim goes.
start_storage() {
  mkdir -p "$state/folders"
  k create -f - >&2 <<'END'
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: folders, annotations: {storageclass.kubernetes.io/is-default-class: "true"}}
provisioner: folders.platnet.test
volumeBindingMode: WaitForFirstConsumer
END
  API=$api TOKEN=admintoken FOLDERS=$state/folders NODE_EXTRA_CA_CERTS=$ca \
    start "$state" provisioner "$PLATNET/node_modules/.bin/node" "$here/provisioner.program.ts"
}

test "$PLANE" != kube || start_coredns
start_kubelet "$state" 1 realnode "$CGROUP"
start_plane "$state" 1 realnode
for number in $others; do
  start_kubelet "$WORK/node$number" "$number" "realnode$number" "$CGROUP-$number"
  start_plane "$WORK/node$number" "$number" "realnode$number"
done
until_true 'the node' k wait --for=condition=Ready node/realnode --timeout=1s
for number in $others; do until_true "node $number" k wait --for=condition=Ready "node/realnode$number" --timeout=1s; done
test "${STORAGE:-0}" != 1 || start_storage
k get nodes -o wide >&2
