#!/bin/sh
# Builds kube-apiserver and etcd from the Go module proxy into .cache/peer, the peer of `npm run bench -- api`: about 7 minutes on 2 cores.
set -eu
cd "$(dirname "$0")/../.."
kubernetes=1.34.4
etcd=3.6.16
mkdir -p .cache/peer/kubernetes .cache/peer/etcd
cd .cache/peer/kubernetes

# The staging modules of k8s.io/kubernetes are published beside it, as v0.34.4 for v1.34.4.
manifest=$(go mod download -json "k8s.io/kubernetes@v$kubernetes" | sed -n 's/.*"GoMod": "\(.*\)".*/\1/p')
{
  printf 'module peer\ngo 1.24.0\nrequire k8s.io/kubernetes v%s\n' "$kubernetes"
  sed -n 's#^[[:space:]]*\(k8s.io/[a-z0-9-]*\) => ./staging.*#\1#p' "$manifest" | while read -r module; do
    printf 'replace %s => %s v0.%s\n' "$module" "$module" "${kubernetes#1.}"
  done
} >go.mod
printf '//go:build tools\n\npackage peer\n\nimport _ "k8s.io/kubernetes/cmd/kube-apiserver"\n' >tools.go
go mod tidy -e >tidy.log 2>&1 || true
nice go build -trimpath -ldflags '-s -w' -o ../kube-apiserver k8s.io/kubernetes/cmd/kube-apiserver

cd ../etcd
printf 'module peer\ngo 1.24.0\nrequire go.etcd.io/etcd/server/v3 v%s\n' "$etcd" >go.mod
printf '//go:build tools\n\npackage peer\n\nimport _ "go.etcd.io/etcd/server/v3"\n' >tools.go
go mod tidy -e >tidy.log 2>&1 || true
nice go build -trimpath -ldflags '-s -w' -o ../etcd-server go.etcd.io/etcd/server/v3
