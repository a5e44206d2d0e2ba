#!/bin/sh
# Runs one container to its end and needs no other process: container-shim.sh FOLDER. The plan of the container is FOLDER/launch.
# It writes these files in FOLDER: shim (its identity; the process that creates the file first has claimed the run), pid (by
# container-init.pl), log/N (the output, rotated by size), exit (exit code, time and, with a memory limit, the number of OOM kills; last).
#   PLATNET_CGROUPS      folders of the control groups to join
#   PLATNET_LOG_BYTES    size of one log file
#   PLATNET_LOG_PIECES   number of log files to keep
set -u
cd "$1" || exit 1
# Field 22 of /proc/self/stat is the start time of the process. Start time and pid together identify one process.
read -r stat </proc/$$/stat
started() { shift 21; echo "$1"; }
# shellcheck disable=SC2086 # a list of numbers
echo "$$ $(started $stat)" >"shim.$$"
ln "shim.$$" shim 2>/dev/null
is_late=$?
rm "shim.$$"
test "$is_late" -eq 0 || exit 0
trap '' HUP INT TERM
scripts=$(dirname "$0")

# The kernel takes 0 as the writing process.
join_cgroups() {
  for folder in $PLATNET_CGROUPS; do
    echo 0 >"$folder/cgroup.procs" || echo "platnet: cannot join the control group $folder" >&2
  done
}

# Version 2 of control groups has the number in memory.events, version 1 in memory.oom_control.
count_oom_kills() {
  for folder in $PLATNET_CGROUPS; do
    cat "$folder/memory.events" "$folder/memory.oom_control" 2>/dev/null
  done | sed -n 's/^oom_kill //p'
}

run() {
  join_cgroups
  # The shim ignores these signals; the container must not.
  trap - HUP INT TERM
  exec perl -w "$scripts/container-init.pl" start "$1"
}

# The log has its own folder: the agent watches FOLDER, and the log changes with each line.
mkdir -p log
{
  (run "$1") </dev/null
  echo "$? $(date +%s) $(count_oom_kills)" >code
} 2>&1 | SHELL=/bin/sh split --bytes="$PLATNET_LOG_BYTES" --numeric-suffixes=1000000 --suffix-length=7 \
  --filter='rm -f "log/$((${FILE#log/} - PLATNET_LOG_PIECES))"; exec cat >"$FILE"' - log/
mv code exit
