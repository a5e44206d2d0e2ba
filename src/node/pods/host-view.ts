import { lstatSync, readlinkSync, realpathSync } from 'node:fs'

/** The content of `/` in a container without a root filesystem. Paths are absolute and equal inside and outside. */
export interface HostView {
  /** Empty folders of the container, with their modes in octal. */
  readonly folders: readonly (readonly [path: string, mode: string])[]
  readonly links: readonly (readonly [path: string, to: string])[]
  /** Paths of the host, mounted read-only, nosuid and nodev. */
  readonly shown: readonly string[]
  /** Paths below `shown` that are empty inside. */
  readonly hidden: readonly string[]
}

export interface HostViewSettings {
  /** The paths that the operator adds. */
  readonly shown: readonly string[]
  /** Keys, sockets and the records of pods. */
  readonly hidden: readonly string[]
}

const programFolders = ['/bin', '/lib', '/lib32', '/lib64', '/libx32', '/sbin', '/usr']

/** The files of /etc that programs read and that hold no secrets: paths of libraries, names, CA certificates, settings of programs. */
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

/** Settings of programs that an operator installed; they can contain passwords. */
const hiddenEverywhere = ['/usr/local/etc']

/** Plans the view from the paths that exist on this machine. */
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

/** Finds the paths below `shown` at which a hidden path would be visible. Resolves the links of both. */
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

/** Returns undefined for a path that does not exist. */
function realPath(path: string): string | undefined {
  try {
    return realpathSync(path)
  } catch {
    return undefined
  }
}
