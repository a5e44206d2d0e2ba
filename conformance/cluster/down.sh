#!/bin/sh
# Ends what up.sh and add-node.sh started: the first process of each node, with which its namespaces and all processes in them end; then
# the control groups.
WORK=$(cd "$WORK" && pwd)
CGROUP=${CGROUP:-platnet-conformance}
for node in "$WORK/node2" "$WORK/state"; do
  pid=$(cat "$node/pid" 2>/dev/null) || continue
  kill -KILL "$pid" 2>/dev/null
  # A program that was stopped has stopped its nsenter too, which then collects nothing, and the namespace does not end.
  for each in $(pgrep -f "^nsenter --target $pid "); do kill -KILL "$each" 2>/dev/null; done
  for _ in $(seq 50); do kill -0 "$pid" 2>/dev/null || break; sleep 0.1; done
  rm -f "$node/pid"
done
sleep 1
for group in /sys/fs/cgroup/*/"$CGROUP" /sys/fs/cgroup/*/"$CGROUP-2" /sys/fs/cgroup/"$CGROUP" /sys/fs/cgroup/"$CGROUP-2"; do
  test -d "$group" && find "$group" -depth -type d -exec rmdir {} + 2>/dev/null
done
exit 0
