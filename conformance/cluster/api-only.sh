#!/bin/sh
# For tests that run no container: `platnet server` on loopback with one Node object that is Ready and has no kubelet. `sh api-only.sh`;
# `sh down.sh` ends it.
#   WORK, PLATNET as in up.sh;  PORT  of the API server, on loopback;  SERVER_OPTIONS
set -eu
here=$(cd "$(dirname "$0")" && pwd)
WORK=$(cd "$WORK" && pwd)
PLATNET=$(cd "$PLATNET" && pwd)
PORT=${PORT:-27643}
export WORK
state=$WORK/state
for each in pid server.pid; do
  test ! -e "$state/$each" || { echo "conformance: $state/$each exists: run down.sh first" >&2; exit 1; }
done
rm -rf "$state"
mkdir -p "$state/logs"
# A server that does not come up is ended.
trap 'status=$?; test "$status" = 0 || sh "$here/down.sh"; exit "$status"' EXIT
# shellcheck disable=SC2086 # one word an option
setsid "$PLATNET/scripts/platnet" server --data-dir "$state/platnet" --secure-port "$PORT" --bind-address 127.0.0.1 --dialect kubernetes \
  --controller-manager-port $((PORT + 1)) --scheduler-port $((PORT + 2)) --node-monitor-grace-period 24h ${SERVER_OPTIONS:-} \
  >"$state/logs/platnet-server.log" 2>&1 </dev/null &
echo $! >"$state/server.pid"
for _ in $(seq 60); do test -s "$state/platnet/admin.kubeconfig" && break; sleep 0.5; done
cp "$state/platnet/admin.kubeconfig" "$state/admin.kubeconfig"
export KUBECONFIG=$state/admin.kubeconfig
for _ in $(seq 60); do kubectl get --raw /readyz >/dev/null 2>&1 && break; sleep 0.5; done
kubectl create -f - >&2 <<'END'
apiVersion: v1
kind: Node
metadata: {name: no-kubelet, labels: {kubernetes.io/hostname: no-kubelet, kubernetes.io/os: linux, kubernetes.io/arch: amd64}}
END
now=$(date -u +%Y-%m-%dT%H:%M:%SZ)
size='{"cpu":"4","memory":"8Gi","pods":"110","ephemeral-storage":"50Gi"}'
kubectl patch node no-kubelet --subresource status --type merge -p "{\"status\":{\"capacity\":$size,\"allocatable\":$size,\"addresses\":[{\"type\":\"InternalIP\",\"address\":\"192.0.2.10\"},{\"type\":\"Hostname\",\"address\":\"no-kubelet\"}],\"conditions\":[{\"type\":\"Ready\",\"status\":\"True\",\"reason\":\"KubeletReady\",\"lastHeartbeatTime\":\"$now\",\"lastTransitionTime\":\"$now\"}]}}" >&2
