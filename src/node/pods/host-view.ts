import { lstatSync, readlinkSync, realpathSync } from 'node:fs'

/** What a container without a root filesystem has at `/`. Paths are absolute and the same inside and outside. */
export interface HostView {
  /** Empty and its own, with its mode in octal. */
  readonly folders: readonly (readonly [path: string, mode: string])[]
  readonly links: readonly (readonly [path: string, to: string])[]
  /** Of the host, read-only; no program is set-user-id there and no file a device. */
  readonly shown: readonly string[]
  /** Empty, should they be below what is shown. */
  readonly hidden: readonly string[]
}

export interface HostViewSettings {
  /** What the operator adds to what is shown. */
  readonly shown: readonly string[]
  /** Keys, sockets, what is written down of pods. */
  readonly hidden: readonly string[]
}

const programFolders = ['/bin', '/lib', '/lib32', '/lib64', '/libx32', '/sbin', '/usr']

/** Of /etc what programs look at and nothing that is secret: where libraries are, names, certificates of authorities, what programs are set to. */
const plainFiles = [
  ...['alternatives', 'ca-certificates', 'ca-certificates.conf', 'debian_version', 'fonts', 'gai.conf', 'group'],
  ...['host.conf', 'inputrc', 'ld.so.cache', 'ld.so.conf', 'ld.so.conf.d', 'locale.alias', 'localtime', 'magic'],
  ...['mime.types', 'nsswitch.conf', 'os-release', 'passwd', 'perl', 'pki/ca-trust/extracted', 'pki/tls/certs'],
  ...['profile', 'protocols', 'python3', 'rpc', 'services', 'shells', 'ssl/certs', 'ssl/openssl.cnf', 'terminfo'],
  'timezone',
].map((name) => `/etc/${name}`)

const ownFolders = [
  ['/etc', '755'],
  ['/home', '755'],
  ['/root', '700'],
  ['/run', '755'],
  ['/srv', '755'],
  ['/tmp', '1777'],
  ['/var/cache', '755'],
  ['/var/lib', '755'],
  ['/var/log', '755'],
  ['/var/tmp', '1777'],
] as const

/** Settings of programs that an operator added there, which may hold passwords. */
const hiddenEverywhere = ['/usr/local/etc']

/** Looks at what this machine has of it. */
export function planHostView(settings: HostViewSettings): HostView {
  const links: [string, string][] = []
  const shown: string[] = []
  for (const path of [...programFolders, ...plainFiles]) {
    const found = lstatSync(path, { throwIfNoEntry: false })
    if (found?.isSymbolicLink()) links.push([path, readlinkSync(path)])
    else if (found !== undefined) shown.push(path)
  }
  links.push(['/etc/mtab', '/proc/self/mounts'], ['/var/run', '/run'])
  const added = settings.shown.filter((path) => realPath(path) !== undefined)
  const hidden = [...hiddenEverywhere, ...settings.hidden]
  const all = [...shown, ...added]
  return { folders: ownFolders, links, shown: all, hidden: all.flatMap((path) => hiddenBelow(path, hidden)) }
}

/** Where what is to be hidden would be seen through a folder that is shown, whatever links lead to either. */
function hiddenBelow(shown: string, hidden: readonly string[]): string[] {
  const root = realPath(shown)
  if (root === undefined) return []
  return hidden.flatMap((path) => {
    const real = realPath(path)
    if (real === undefined) return []
    if (`${root}/`.startsWith(`${real}/`)) return [shown]
    return real.startsWith(`${root}/`) ? [`${shown}${real.slice(root.length)}`] : []
  })
}

/** Undefined for what is not there. */
function realPath(path: string): string | undefined {
  try {
    return realpathSync(path)
  } catch {
    return undefined
  }
}
