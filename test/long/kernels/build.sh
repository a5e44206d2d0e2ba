#!/bin/sh
# Builds virtual machines with kernels of other suites of Debian into .cache/kernels, for kernels.test.ts:
# `sh test/long/kernels/build.sh [SUITE...]`. All else in the machines is Debian 12; bullseye also gives the older nft.
# Packages are unpacked and not installed, so that nothing of them runs here.
set -e
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$here/../../../.cache/kernels"
cd "$here/../../../.cache/kernels"
keyring=/usr/share/keyrings/debian-archive-keyring.gpg
programs='dash bash coreutils sed grep findutils util-linux mount kmod procps perl-base libatomic1 libstdc++6
  iproute2 iputils-ping nftables iptables ipset conntrack'
for program in cpio dpkg-deb apt-get; do
  command -v $program >/dev/null || { echo "needs $program" >&2; exit 1; }
done

# Some archives one after the other are one archive for the kernel.
pack() { (cd "$1" && find . | cpio --quiet -o -H newc) >"$2.part" && mv "$2.part" "$2"; }

# An apt of its own, which neither reads nor writes the lists of this machine.
use_suite() {
  mkdir -p "$1/apt/lists/partial" "$1/apt/cache/archives/partial"
  unset APT_CONFIG
  repositories=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' | sort -u)
  echo "deb [signed-by=$keyring] $(echo "$repositories" | grep -v security | head -n 1) $1 main" >"$1/apt/sources.list"
  case $1 in
    bullseye | bookworm)
      echo "deb [signed-by=$keyring] $(echo "$repositories" | grep security | head -n 1) $1-security main" >>"$1/apt/sources.list"
      ;;
  esac
  cat >"$1/apt/apt.conf" <<END
Dir::Etc::sourcelist "$PWD/$1/apt/sources.list";
Dir::Etc::sourceparts "-";
Dir::State::lists "$PWD/$1/apt/lists";
Dir::State::status "/dev/null";
Dir::Cache "$PWD/$1/apt/cache";
Acquire::Languages "none";
APT::Sandbox::User "root";
END
  export APT_CONFIG="$PWD/$1/apt/apt.conf"
  apt-get update -qq
}

# Unpacks the packages of a folder into another.
unpack() {
  mkdir -p "$2"
  for package in "$1"/*.deb; do dpkg-deb --fsys-tarfile "$package" | tar -C "$2" --keep-directory-symlink -xf -; done
}

make_root() {
  # shellcheck disable=SC2086
  apt-get install -qq --download-only --no-install-recommends $programs >/dev/null
  mkdir -p root/usr/bin root/usr/sbin root/usr/lib root/usr/lib64 root/dev root/proc root/sys root/run root/tmp root/etc root/root
  for name in bin sbin lib lib64; do ln -sfn "usr/$name" "root/$name"; done
  unpack "$1/apt/cache/archives" root
  for name in iptables ip6tables; do
    for suffix in '' -save -restore; do ln -sf "$name-nft$suffix" "root/usr/sbin/$name$suffix"; done
  done
  ln -sf dash root/usr/bin/sh
  echo root:x:0:0:root:/root:/bin/sh >root/etc/passwd
  echo root:x:0: >root/etc/group
  echo 127.0.0.1 localhost >root/etc/hosts
  for name in doc locale man; do rm -rf "root/usr/share/$name"; done
  install -m 755 "$here/init.sh" root/init
  pack root root.cpio
  rm -rf root
}

depends_on() { apt-cache depends "$1" | sed -n "s/^ *Depends: \($2\)$/\1/p"; }

# Downloads packages without what they need: FOLDER PACKAGE...
fetch() { mkdir -p "$1" && (cd "$1" && shift && apt-get download -qq "$@"); }

make_kernel() {
  image=$(depends_on linux-image-cloud-amd64 'linux-image-[0-9].*' | head -n 1)
  # shellcheck disable=SC2046
  fetch "$1/debs" "$image" $(depends_on "$image" 'linux-\(binary\|modules\)-[0-9].*')
  unpack "$1/debs" "$1/tree"
  cp "$(find "$1/tree" -name 'vmlinuz*' | head -n 1)" "$1/vmlinuz"
  mkdir -p "$1/files/usr/lib"
  mv "$(find "$1/tree" -path '*lib/modules' -type d)" "$1/files/usr/lib/modules"
  pack "$1/files" "$1/modules.cpio"
}

# Beside the newer one: /opt/nft/usr/sbin/nft with its libraries.
add_nft() {
  fetch "$1/nft" nftables libnftables1 libnftnl11
  unpack "$1/nft" "$1/files/opt/nft"
  rm -rf "$1/files/opt/nft/usr/share"
}

if [ ! -e root.cpio ]; then
  use_suite bookworm
  make_root bookworm
fi
for suite in ${*:-bullseye bookworm bookworm-backports sid}; do
  [ -e "$suite/modules.cpio" ] && continue
  use_suite "$suite"
  [ "$suite" = bullseye ] && add_nft "$suite"
  make_kernel "$suite"
  for folder in apt debs tree files nft; do rm -rf "${suite:?}/$folder"; done
done
