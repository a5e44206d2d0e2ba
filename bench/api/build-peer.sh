#!/bin/sh
# Builds kube-apiserver and etcd from the Go module proxy into .cache/peer, the peer of `npm run bench -- api`: about 7 minutes on 2 cores.
set -eu
cd "$(dirname "$0")/../.."
etcd=3.6.16
sh bench/build-kubernetes.sh kube-apiserver
mkdir -p .cache/peer/build-etcd
cd .cache/peer/build-etcd
printf 'module peer\ngo 1.24.0\nrequire go.etcd.io/etcd/server/v3 v%s\n' "$etcd" >go.mod
printf '//go:build tools\n\npackage peer\n\nimport _ "go.etcd.io/etcd/server/v3"\n' >tools.go
go mod tidy -e >tidy.log 2>&1 || true
nice go build -trimpath -ldflags '-s -w' -o ../etcd-server go.etcd.io/etcd/server/v3
