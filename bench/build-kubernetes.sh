#!/bin/sh
# Builds one program of Kubernetes from the Go module proxy into .cache/peer: `sh bench/build-kubernetes.sh kube-proxy`.
set -eu
program=$1
kubernetes=1.34.4
cd "$(dirname "$0")/.."
mkdir -p ".cache/peer/build-$program"
cd ".cache/peer/build-$program"

# The staging modules of k8s.io/kubernetes are published beside it, as v0.34.4 for v1.34.4.
manifest=$(go mod download -json "k8s.io/kubernetes@v$kubernetes" | sed -n 's/.*"GoMod": "\(.*\)".*/\1/p')
{
  printf 'module peer\ngo 1.24.0\nrequire k8s.io/kubernetes v%s\n' "$kubernetes"
  sed -n 's#^[[:space:]]*\(k8s.io/[a-z0-9-]*\) => ./staging.*#\1#p' "$manifest" | while read -r module; do
    printf 'replace %s => %s v0.%s\n' "$module" "$module" "${kubernetes#1.}"
  done
} >go.mod
printf '//go:build tools\n\npackage peer\n\nimport _ "k8s.io/kubernetes/cmd/%s"\n' "$program" >tools.go
go mod tidy -e >tidy.log 2>&1 || true
nice go build -trimpath -ldflags '-s -w' -o "../$program" "k8s.io/kubernetes/cmd/$program"
