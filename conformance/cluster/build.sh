#!/bin/sh
# Builds Kubernetes' own programs and its end-to-end suite from the Go module proxy: `WORK=folder sh build.sh [TARGET ...]`. Programs land in
# $WORK/bin; a program that is there is not built again. All of them take about 25 minutes on two cores with a cold cache. The target
# `sources` is the source of Kubernetes alone.
#
# The module k8s.io/kubernetes of the proxy lacks its staging modules, which are published as v0.34.4 for v1.34.4. So it is copied to a folder
# that can be written, and each `replace` is pointed at the published module.
set -eu
WORK=$(mkdir -p "$WORK" && cd "$WORK" && pwd)
kubernetes=1.34.4 etcd=3.6.16 coredns=1.12.4
export GOWORK=off GOFLAGS='-mod=mod -buildvcs=false' CGO_ENABLED=0
mkdir -p "$WORK/bin" "$WORK/build"

prepare_kubernetes() {
  test ! -e "$WORK/build/kubernetes/.ready" || return 0
  source=$(go mod download -json "k8s.io/kubernetes@v$kubernetes" | sed -n 's/.*"Dir": "\(.*\)".*/\1/p')
  mkdir -p "$WORK/build/kubernetes"
  for each in go.mod go.sum api build cluster cmd pkg plugin test third_party; do cp -r "$source/$each" "$WORK/build/kubernetes/"; done
  chmod -R u+w "$WORK/build/kubernetes"
  sed -i -E "s#(k8s.io/[a-z0-9-]+) => ./staging/src/.*#\1 => \1 v0.${kubernetes#1.}#" "$WORK/build/kubernetes/go.mod"
  touch "$WORK/build/kubernetes/.ready"
}

# The copy has no git, so the version is given to the linker. kubelet and e2e.test compare versions by it.
flags='-s -w'
for package in k8s.io/component-base/version k8s.io/client-go/pkg/version; do
  flags="$flags -X $package.gitVersion=v$kubernetes -X $package.gitMajor=1 -X $package.gitMinor=34 -X $package.gitTreeState=clean"
done

in_kubernetes() {
  prepare_kubernetes
  (cd "$WORK/build/kubernetes" && nice -n 10 "$@")
}

# A module that is published as a program of its own: NAME MODULE VERSION, whose package main is the module's root.
from_proxy() {
  mkdir -p "$WORK/build/$1"
  (cd "$WORK/build/$1" &&
    printf 'module peer\ngo 1.24.0\nrequire %s v%s\n' "$2" "$3" >go.mod &&
    printf '//go:build tools\n\npackage peer\n\nimport _ "%s"\n' "$2" >tools.go &&
    { go mod tidy -e >tidy.log 2>&1 || true; } &&
    nice -n 10 go build -trimpath -ldflags '-s -w' -o "$WORK/bin/$1" "$2")
}

test $# -gt 0 ||
  set -- e2e.test agnhost regression-issue-74839 kubelet kube-apiserver kube-controller-manager kube-scheduler etcd kube-proxy coredns
for target; do
  test "$target" != sources || { prepare_kubernetes; continue; }
  test ! -x "$WORK/bin/$target" || continue
  echo "conformance: building $target" >&2
  case $target in
    e2e.test) in_kubernetes go test -c -trimpath -ldflags "$flags" -o "$WORK/bin/e2e.test" ./test/e2e ;;
    agnhost | regression-issue-74839)
      in_kubernetes go build -trimpath -ldflags "$flags" -o "$WORK/bin/$target" "./test/images/$target" ;;
    kube*) in_kubernetes go build -trimpath -ldflags "$flags" -o "$WORK/bin/$target" "./cmd/$target" ;;
    etcd) from_proxy etcd go.etcd.io/etcd/server/v3 $etcd ;;
    coredns) from_proxy coredns github.com/coredns/coredns $coredns ;;
    *) echo "conformance: build.sh does not know $target" >&2; exit 2 ;;
  esac
done
