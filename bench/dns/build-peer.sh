#!/bin/sh
# Builds CoreDNS from the Go module proxy into .cache/peer, the peer of `npm run bench -- dns` and of test/conformance/dns: a few minutes on 2 cores.
set -eu
cd "$(dirname "$0")/../.."
coredns=1.12.4
mkdir -p .cache/peer/build-coredns
cd .cache/peer/build-coredns
printf 'module peer\ngo 1.24.0\nrequire github.com/coredns/coredns v%s\n' "$coredns" >go.mod
printf 'package main\n\nimport (\n\t_ "github.com/coredns/coredns/core/plugin"\n\t"github.com/coredns/coredns/coremain"\n)\n\nfunc main() { coremain.Run() }\n' >main.go
go mod tidy -e >tidy.log 2>&1 || true
nice go build -trimpath -ldflags '-s -w' -o ../coredns .
