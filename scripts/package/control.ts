// The control files of the Debian package (deb-control(5)).
import { createHash } from 'node:crypto'

/** Debian's names of architectures by Node's. */
export const architectures = { x64: 'amd64', arm64: 'arm64' } as const

/** What the program starts, and the libraries that its Node is linked with. Perl and util-linux are on every Debian (essential). */
const depends = [
  'iptables',
  'ipset',
  'nftables',
  'conntrack',
  'iproute2',
  'containernetworking-plugins',
  'haproxy',
  'kmod',
  'procps',
  'libnftables1',
  'libatomic1',
  'libc6 (>= 2.28)',
  'libgcc-s1',
  'libstdc++6 (>= 12)',
]

export const conffiles = [
  '/etc/default/platnet',
  '/etc/default/platnet-agent',
  '/etc/default/platnet-server',
  '/etc/platnet/config.yaml',
]

export interface Release {
  /** Of package.json. */
  readonly version: string
  readonly description: string
  /** Full hash. */
  readonly commit: string
  /** Seconds since 1970. */
  readonly commitSeconds: number
  /** Files of the checkout differ from the commit. */
  readonly isChanged: boolean
}

/** `0.1.0+git20261124021229.f24d0889`: later commits count as newer (deb-version(7)). */
export function debianVersion({ version, commit, commitSeconds, isChanged }: Release): string {
  const stamp = new Date(commitSeconds * 1000).toISOString().replaceAll(/\D/g, '').slice(0, 14)
  return `${version}+git${stamp}.${commit.slice(0, 8)}${isChanged ? '.changed' : ''}`
}

export function controlFile(release: Release, architecture: string, installedBytes: number): string {
  const [summary = '', ...rest] = release.description.split(': ')
  const fields = {
    Package: 'platnet',
    Version: debianVersion(release),
    Architecture: architecture,
    Maintainer: 'The Platnet authors <platnet@localhost>',
    'Installed-Size': String(Math.ceil(installedBytes / 1024)),
    Depends: depends.join(', '),
    Recommends: 'systemd',
    Section: 'net',
    Priority: 'optional',
    Description: `${summary}\n ${wrapped(rest.join(': '), 78).join('\n ')}`,
  }
  return Object.entries(fields)
    .map(([name, value]) => `${name}: ${value}\n`)
    .join('')
}

/** `md5sums`: what `dpkg --verify` compares. */
export function checksums(files: ReadonlyMap<string, Buffer>): string {
  return [...files].map(([path, bytes]) => `${createHash('md5').update(bytes).digest('hex')}  ${path}\n`).join('')
}

export function changelog(release: Release): string {
  const date = new Date(release.commitSeconds * 1000).toUTCString().replace('GMT', '+0000')
  const entry = `  * Built from commit ${release.commit}.`
  const author = ' -- The Platnet authors <platnet@localhost>'
  return `platnet (${debianVersion(release)}) unstable; urgency=medium\n\n${entry}\n\n${author}  ${date}\n`
}

function wrapped(text: string, width: number): readonly string[] {
  return text.match(new RegExp(`.{1,${width}}(?:\\s|$)`, 'g'))?.map((line) => line.trim()) ?? [text]
}
