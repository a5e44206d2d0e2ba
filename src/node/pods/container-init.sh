#!/bin/sh
# The first process of a container, in namespaces of its own: container-init.sh FOLDER. Tells its pid, makes the container's
# view of the machine, and becomes the program. What comes from outside stays in variables and is never read as code.
#   PLATNET_FILES          "source target" lines: files to show at other places (resolv.conf, hosts)
#   PLATNET_HOSTNAME       empty: the host's
#   PLATNET_WORKDIR        empty: /
#   PLATNET_USER           "uid:gid"; empty: the one who runs this
#   PLATNET_ENV_COUNT, PLATNET_ENV_0 …   NAME=VALUE
#   PLATNET_ARG_COUNT, PLATNET_ARG_0 …   program and arguments
set -eu
folder=$1
# /proc still is the host's: the pid there is the one that others know this process by. Field 22 is when it started.
read -r stat </proc/self/stat
started() { shift 21; echo "$1"; }
# shellcheck disable=SC2086 # a list of numbers
identity="${stat%% *} $(started $stat)"

mount -t proc proc /proc
test -z "$PLATNET_NETNS" || mount -t sysfs -o ro sysfs /sys
printf '%s\n' "$PLATNET_FILES" | while read -r source target; do
  test -z "$source" || mount --bind "$source" "$target"
done
test -z "$PLATNET_HOSTNAME" || printf '%s' "$PLATNET_HOSTNAME" >/proc/sys/kernel/hostname

# Makes "$PLATNET_ENV_0" "$PLATNET_ENV_1" … for the one eval below: only our own names are read as code, never a value.
words=
append() {
  index=0
  while test "$index" -lt "$2"; do
    words="$words \"\$$1_$index\""
    index=$((index + 1))
  done
}
append PLATNET_ENV "$PLATNET_ENV_COUNT"
append PLATNET_ARG "$PLATNET_ARG_COUNT"
eval "set -- $words"

# A service manager sets both for the agent; the container is to have what containers have.
umask 022
echo 0 2>/dev/null >/proc/self/oom_score_adj || true

echo "$identity" >"$folder/pid.new"
mv "$folder/pid.new" "$folder/pid"
cd "${PLATNET_WORKDIR:-/}"
become=
test -z "$PLATNET_USER" || become="setpriv --reuid=${PLATNET_USER%:*} --regid=${PLATNET_USER#*:} --clear-groups"
# shellcheck disable=SC2086 # words of our own
exec $become env -i "$@"
