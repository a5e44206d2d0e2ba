#!/bin/sh
# Makes the images that Kubernetes' suite names from what a Debian machine has, without a registry: `WORK=folder sh images.sh`. The result is
# $WORK/images/*.tar (docker archives). It needs the packages of install.sh, apt-get (netcat-openbsd and iperf are unpacked, not installed)
# and agnhost of build.sh.
#   agnhost, jessie-dnsutils, distroless-iptables  one root of busybox applets (the original has busybox too) with the programs that tests
#                                                  call (dig, curl, nc, ss, ip, conntrack) and the official agnhost
#   kube-proxy                                     that root with kube-proxy, where build.sh has built it
#   nginx, httpd, nautilus                         busybox httpd on port 80
#   pause                                          a short program in C
set -eu
here=$(cd "$(dirname "$0")" && pwd)
WORK=$(cd "$WORK" && pwd)
out=$WORK/images
rm -rf "$out/root" "$out/small"
mkdir -p "$out/root" "$out/small" "$out/debs"

# image NAME ROOT ENTRYPOINT-JSON CMD-JSON: a docker archive of one layer. Layers are made once for each root.
layer() { test -e "$out/$1.layer.tar" || tar --sort=name --mtime=@0 --owner=0 --group=0 --numeric-owner -C "$2" -cf "$out/$1.layer.tar" .; }
image() {
  name=$1 layer=$2 entry=$3 command=$4
  file=$(printf '%s' "$name" | tr '/:' '__')
  digest=$(sha256sum "$out/$layer.layer.tar" | cut -d' ' -f1)
  folder=$out/tmp-$file
  rm -rf "$folder"; mkdir -p "$folder"
  ln "$out/$layer.layer.tar" "$folder/layer.tar"
  printf '{"architecture":"amd64","os":"linux","config":{"Env":["PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"],"Entrypoint":%s,"Cmd":%s,"WorkingDir":"/"},"rootfs":{"type":"layers","diff_ids":["sha256:%s"]},"history":[{"created":"2024-01-01T00:00:00Z","created_by":"platnet %s"}],"created":"2024-01-01T00:00:00Z"}' \
    "$entry" "$command" "$digest" "$name" >"$folder/config.json"
  config=$(sha256sum "$folder/config.json" | cut -d' ' -f1).json
  mv "$folder/config.json" "$folder/$config"
  printf '[{"Config":"%s","RepoTags":["%s"],"Layers":["layer.tar"]}]' "$config" "$name" >"$folder/manifest.json"
  rm -f "$out/$file.tar" # it may have other names by hard links
  tar -C "$folder" -cf "$out/$file.tar" manifest.json "$config" layer.tar
  rm -rf "$folder"
}

skeleton() {
  mkdir -p "$1/bin" "$1/sbin" "$1/usr/bin" "$1/usr/sbin" "$1/usr/local/bin" "$1/etc" "$1/tmp" "$1/var/tmp" "$1/run" "$1/root" "$1/home" "$1/proc" "$1/sys" "$1/dev" "$1/uploads" "$1/www"
  chmod 1777 "$1/tmp" "$1/var/tmp" "$1/uploads"
  printf 'root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534:nobody:/:/bin/false\nuser-defined-in-image:x:1000:1000::/home:/bin/sh\n' >"$1/etc/passwd"
  printf 'root:x:0:\nnogroup:x:65534:\nuser-defined-in-image:x:1000:\ngroup-defined-in-image:x:50000:user-defined-in-image\n' >"$1/etc/group"
  printf 'hosts: files dns\n' >"$1/etc/nsswitch.conf"
  printf 'It works!\n' >"$1/www/index.html"
  cp "$(command -v busybox)" "$1/bin/busybox"
  for applet in $("$1/bin/busybox" --list); do test "$applet" = busybox || ln -sf /bin/busybox "$1/bin/$applet"; done
  # Debian's busybox has no printenv.
  test -e "$1/bin/printenv" || { printf '#!/bin/sh\nenv | sed -n "s/^$1=//p"\n' >"$1/bin/printenv"; chmod 755 "$1/bin/printenv"; }
}

# A program of this machine with the libraries that it loads, at the same places.
with_program() {
  root=$1 file=$2 place=$3
  rm -f "$root/bin/$(basename "$place")"
  mkdir -p "$root$(dirname "$place")"
  cp -L "$file" "$root$place"
  for library in $(ldd "$file" 2>/dev/null | grep -o '/[^ ]*'); do
    test -e "$root$library" || { mkdir -p "$root$(dirname "$library")"; cp -L "$library" "$root$library"; }
  done
}

skeleton "$out/small"
printf '{"image":"nautilus.jpg"}' >"$out/small/www/data.json" # what tests ask of nautilus
# Tests take the page away from the folder of the original, so that the probe of its pod fails.
mkdir -p "$out/small/usr/local/apache2"
ln -s /www "$out/small/usr/local/apache2/htdocs"
layer small "$out/small"

skeleton "$out/root"
# busybox wget of busybox-static crashes where glibc finds an nsswitch.conf: the real one.
for program in bash curl wget dig nslookup host ss ip getent conntrack timeout xtables-nft-multi; do
  file=$(PATH=$PATH:/usr/sbin:/sbin command -v "$program") || { echo "conformance: no $program for the images" >&2; continue; }
  with_program "$out/root" "$file" "/usr/bin/$program"
done
# busybox sh prefers its own applets (its nc knows no -u) to programs in PATH, so sh is bash here.
rm -f "$out/root/bin/sh"; cp "$out/root/usr/bin/bash" "$out/root/bin/sh"
for name in iptables iptables-save iptables-restore ip6tables ip6tables-save ip6tables-restore iptables-nft iptables-nft-save; do ln -sf xtables-nft-multi "$out/root/usr/bin/$name"; done
mkdir -p "$out/root/usr/lib/x86_64-linux-gnu"
cp -r /usr/lib/x86_64-linux-gnu/xtables "$out/root/usr/lib/x86_64-linux-gnu/" 2>/dev/null || true
(cd "$out/debs" && apt-get download netcat-openbsd iperf libbsd0 libmd0 >/dev/null 2>&1 && for deb in *.deb; do dpkg -x "$deb" unpacked; done)
cp -a "$out/debs/unpacked/." "$out/debs/merged/" 2>/dev/null || { mkdir -p "$out/debs/merged"; cp -a "$out/debs/unpacked/." "$out/debs/merged/"; }
mkdir -p "$out/root/usr/lib/x86_64-linux-gnu" "$out/root/lib/x86_64-linux-gnu"
find "$out/debs/merged" -name 'lib*.so*' -exec cp -a {} "$out/root/usr/lib/x86_64-linux-gnu/" \;
LD_LIBRARY_PATH=$out/root/usr/lib/x86_64-linux-gnu
export LD_LIBRARY_PATH
with_program "$out/root" "$out/debs/merged/bin/nc.openbsd" /usr/bin/nc
with_program "$out/root" "$out/debs/merged/usr/bin/iperf" /usr/bin/iperf
unset LD_LIBRARY_PATH
rm -rf "$out/root/$out"
# glibc looks for libraries in /lib and /usr/lib of the multiarch folder, which ldd names both ways.
cp "$WORK/bin/agnhost" "$out/root/agnhost"
ln -sf agnhost "$out/root/agnhost-2"
test ! -x "$WORK/bin/coredns" || cp "$WORK/bin/coredns" "$out/root/coredns"  # some DNS tests run a server of their own
test ! -x "$WORK/bin/kube-proxy" || cp "$WORK/bin/kube-proxy" "$out/root/usr/local/bin/kube-proxy"
WORK=$WORK sh "$here/build.sh" sources
for each in localhost.crt localhost.key; do cp "$WORK/build/kubernetes/test/images/agnhost/porter/$each" "$out/root/$each"; done
layer full "$out/root"

mkdir -p "$out/pause"
printf '#include <signal.h>\n#include <stdlib.h>\n#include <sys/wait.h>\n#include <unistd.h>\nstatic void end(int s){(void)s;_exit(0);}\nstatic void reap(int s){(void)s;while(waitpid(-1,0,WNOHANG)>0);}\nint main(void){signal(SIGINT,end);signal(SIGTERM,end);signal(SIGCHLD,reap);for(;;)pause();}\n' >"$out/pause.c"
gcc -O2 -static -o "$out/pause/pause" "$out/pause.c"
layer pause "$out/pause"

e2e=registry.k8s.io/e2e-test-images
image registry.k8s.io/pause:3.10.1 pause '["/pause"]' null
image $e2e/agnhost:2.56 full '["/agnhost"]' '["pause"]'
image $e2e/jessie-dnsutils:1.7 full null '["/bin/sh"]'
image registry.k8s.io/build-image/distroless-iptables:v0.7.14 full null '["/bin/sh"]'
test ! -x "$WORK/bin/kube-proxy" || image registry.k8s.io/kube-proxy:v1.34.4 full null '["/usr/local/bin/kube-proxy"]'
image $e2e/busybox:1.37.0-1 small null '["sh"]'
if test -x "$WORK/bin/regression-issue-74839"; then
  mkdir -p "$out/regression"; cp "$WORK/bin/regression-issue-74839" "$out/regression/"
  layer regression "$out/regression"
  image $e2e/regression-issue-74839:1.2 regression '["/regression-issue-74839"]' null
fi
# The first process of a container gets no signal that it does not wait for: a shell ends it at once, as the originals do.
serve='["/bin/sh","-c","busybox httpd -f -p 80 -h /www & trap : TERM INT; wait; exit 0"]'
for each in nginx:1.14-4 nginx:1.15-4 httpd:2.4.38-4 httpd:2.4.39-4 nautilus:1.7; do image $e2e/$each small null "$serve"; done
rm -f "$out"/*.layer.tar
# main.ts makes them again when this script has changed. A file of its own: the old one may have other names by hard links.
rm -f "$out/.ready"
sha256sum <"$here/images.sh" | cut -d' ' -f1 >"$out/.ready"
