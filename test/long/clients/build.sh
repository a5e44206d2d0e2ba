#!/bin/sh
# Builds client programs from the Go module proxy into .cache/clients: `sh test/long/clients/build.sh [PROGRAM ...]`, all of them where none
# is named. A program that is there is not built again. All take about half an hour of one processor with a cold cache.
#
# Each program's own code is as its authors published it. Its Kubernetes libraries are those of the programs of conformance/cluster (1.34.4),
# so that the compiler's cache serves all; cert-manager 1.11 is the last one whose programs lie in the module itself, and keeps its own.
set -eu
cd "$(dirname "$0")/../../.."
mkdir -p .cache/clients
cd .cache/clients
kubernetes=v0.34.4 runtime=v0.22.4
export GOWORK=off GOFLAGS='-mod=mod -buildvcs=false' CGO_ENABLED=0

# NAME MODULE VERSION PACKAGE [MODULE@VERSION ...]: the modules at the end take the place of older ones.
build() {
  name=$1 module=$2 version=$3 package=$4
  shift 4
  test ! -x "$name" || return 0
  echo "clients: building $name" >&2
  mkdir -p "build-$name"
  manifest=$(go mod download -json "$module@$version" | sed -n 's/.*"GoMod": "\(.*\)".*/\1/p')
  (
    cd "build-$name"
    {
      printf 'module peer\ngo 1.24.0\nrequire %s %s\n' "$module" "$version"
      for each; do printf 'require %s %s\n' "${each%@*}" "${each#*@}"; done
      sed -n -e '/^replace (/,/^)/p' -e '/^replace [^(]/p' "$manifest" | grep -v -e '=> \.' -e ' k8s.io/[a-z-]* => k8s.io' || true
    } >go.mod
    printf '//go:build tools\n\npackage peer\n\nimport _ "%s"\n' "$package" >tools.go
    go mod tidy -e >tidy.log 2>&1 || true
    nice go build -p 1 -trimpath -ldflags '-s -w' -o "../$name" "$package"
  )
}

libraries() {
  for each in api apiextensions-apiserver apimachinery apiserver cli-runtime client-go component-base kubectl; do
    printf 'k8s.io/%s@%s ' "$each" "$kubernetes"
  done
}

test $# -gt 0 || set -- helm kube-state-metrics prometheus-operator cert-manager-controller cert-manager-cainjector
for target; do
  # shellcheck disable=SC2046 # a list of modules
  case $target in
    helm) build helm helm.sh/helm/v3 v3.19.2 helm.sh/helm/v3/cmd/helm $(libraries) ;;
    kube-state-metrics)
      build "$target" k8s.io/kube-state-metrics/v2 v2.18.0 k8s.io/kube-state-metrics/v2 $(libraries) "sigs.k8s.io/controller-runtime@$runtime" ;;
    prometheus-operator)
      build "$target" github.com/prometheus-operator/prometheus-operator v0.85.0 github.com/prometheus-operator/prometheus-operator/cmd/operator \
        $(libraries) "sigs.k8s.io/controller-runtime@$runtime" ;;
    cert-manager-*)
      build "$target" github.com/cert-manager/cert-manager v1.11.5 "github.com/cert-manager/cert-manager/cmd/${target#cert-manager-}" ;;
    *) echo "clients: build.sh does not know $target" >&2; exit 2 ;;
  esac
done
