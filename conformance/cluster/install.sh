#!/bin/sh
# Installs the Debian packages that a real node and its images need, or those of the named programs: `sh install.sh [PROGRAM...]`.
set -eu
missing=''
while IFS='|' read -r program package; do
  case " ${*:-$program} " in *" $program "*) ;; *) continue ;; esac
  PATH=$PATH:/usr/sbin:/sbin command -v "$program" >/dev/null 2>&1 || missing="$missing $package"
done <<END
containerd|containerd
runc|runc
busybox|busybox-static
gcc|gcc
openssl|openssl
kubectl|kubernetes-client
dig|bind9-dnsutils
conntrack|conntrack
wget|wget
END
test -n "$missing" || exit 0
echo "conformance: installing$missing" >&2
apt-get update -qq >&2
# shellcheck disable=SC2086 # one word a package
DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $missing >&2 </dev/null
