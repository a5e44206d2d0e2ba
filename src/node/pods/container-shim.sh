#!/bin/sh
# Runs one container to its end and needs no other process: container-shim.sh FOLDER, with the container's plan in FOLDER/launch.
# In FOLDER it leaves: shim (its identity, made once: who makes it first may go on), pid (by container-init.pl), log/N (output,
# rotated by size), exit (code, time and, where memory is limited, how many processes that cost; last of all).
#   PLATNET_CGROUPS      folders of control groups to join
#   PLATNET_LOG_BYTES    size of one piece of the log
#   PLATNET_LOG_PIECES   how many pieces are kept
set -u
cd "$1" || exit 1
# Field 22 of /proc/self/stat is when the process started: with its pid it names one process for good.
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

# 0 is the process that writes.
join_cgroups() {
  for folder in $PLATNET_CGROUPS; do
    echo 0 >"$folder/cgroup.procs" || echo "platnet: cannot join the control group $folder" >&2
  done
}

# Each version of control groups has a file of its own for it.
count_oom_kills() {
  for folder in $PLATNET_CGROUPS; do
    cat "$folder/memory.events" "$folder/memory.oom_control" 2>/dev/null
  done | sed -n 's/^oom_kill //p'
}

run() {
  join_cgroups
  # The container has the usual signals, whatever its shim ignores.
  trap - HUP INT TERM
  exec perl -w "$scripts/container-init.pl" start "$1"
}

# Not beside the other files: those are watched, and this is written to with each line.
mkdir -p log
{
  (run "$1") </dev/null
  echo "$? $(date +%s) $(count_oom_kills)" >code
} 2>&1 | SHELL=/bin/sh split --bytes="$PLATNET_LOG_BYTES" --numeric-suffixes=1000000 --suffix-length=7 \
  --filter='rm -f "log/$((${FILE#log/} - PLATNET_LOG_PIECES))"; exec cat >"$FILE"' - log/
mv code exit
