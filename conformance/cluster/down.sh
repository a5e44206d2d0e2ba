#!/bin/sh
# Ends what up.sh and api-only.sh started: the server by itself; the first process of each node, with which its namespaces and all
# processes in them end; then the control groups.
WORK=$(cd "$WORK" && pwd)
CGROUP=${CGROUP:-platnet-conformance}
for node in "$WORK/node3" "$WORK/node2" "$WORK/state"; do
  pid=$(cat "$node/pid" 2>/dev/null) || continue
  kill -KILL "$pid" 2>/dev/null
  # A program that was stopped has stopped its nsenter too, which then collects nothing, and the namespace does not end.
  for each in $(pgrep -f "^nsenter --target $pid "); do kill -KILL "$each" 2>/dev/null; done
  for _ in $(seq 50); do kill -0 "$pid" 2>/dev/null || break; sleep 0.1; done
  rm -f "$node/pid"
done
# The number may be that of another process by now.
pid=$(cat "$WORK/state/server.pid" 2>/dev/null) && {
  case $(cat "/proc/$pid/cmdline" 2>/dev/null | tr '\0' ' ') in *"$WORK/state/platnet"*) kill -TERM "$pid" ;; esac
  rm -f "$WORK/state/server.pid"
}
sleep 1
for group in /sys/fs/cgroup/*/"$CGROUP" /sys/fs/cgroup/*/"$CGROUP"-[23] /sys/fs/cgroup/"$CGROUP" /sys/fs/cgroup/"$CGROUP"-[23]; do
  test -d "$group" && find "$group" -depth -type d -exec rmdir {} + 2>/dev/null
done
exit 0
