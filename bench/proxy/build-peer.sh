#!/bin/sh
# Builds kube-proxy from the Go module proxy into .cache/peer, the peer of `npm run bench -- proxy`: a few minutes on 2 cores.
set -eu
cd "$(dirname "$0")/../.."
sh bench/build-kubernetes.sh kube-proxy
