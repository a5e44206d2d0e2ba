#!/bin/sh
# Builds cnitool from the Go module proxy into .cache/peer, the peer of `npm run bench -- pods`: about a minute.
set -eu
cd "$(dirname "$0")/../.."
mkdir -p .cache/peer
GOBIN=$(cd .cache/peer && pwd -P) nice go install -trimpath github.com/containernetworking/cni/cnitool@v1.3.0
