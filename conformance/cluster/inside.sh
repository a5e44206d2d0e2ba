#!/bin/sh
# Runs a command inside the first node of up.sh: `sh inside.sh kubectl get pods -A`.
WORK=$(cd "$WORK" && pwd)
export KUBECONFIG="${KUBECONFIG:-$WORK/state/admin.kubeconfig}" PATH=$PATH:/usr/sbin:/sbin:$WORK/bin
exec nsenter --target "$(cat "$WORK/state/pid")" --mount --net --uts --pid --wd="$PWD" -- "$@"
