import type { JsonObject } from '../../model/api-object.ts'
import type { Launch } from './container-launch.ts'

export interface BundleParts {
  readonly launch: Launch
  /** Path of the network namespace; undefined for the host's. */
  readonly netnsPath: string | undefined
  readonly hostname: string | undefined
  /** Files to show inside: the resolver's, the hosts file. */
  readonly files: readonly { readonly source: string; readonly target: string }[]
}

/** What Docker gives a container by default is more than a server needs; these are enough to open ports and change users. */
const capabilities = [
  'CAP_CHOWN',
  'CAP_DAC_OVERRIDE',
  'CAP_FOWNER',
  'CAP_KILL',
  'CAP_NET_BIND_SERVICE',
  'CAP_SETGID',
  'CAP_SETUID',
]

/** The `config.json` of an OCI bundle (runtime specification 1.0) for a container of a pod. Pure. */
export function ociConfig({ launch, netnsPath, hostname, files }: BundleParts): JsonObject {
  const network = netnsPath === undefined ? [] : [{ type: 'network', path: netnsPath }]
  const names = ['pid', 'mount', 'ipc', 'uts'].map((type) => ({ type }))
  return {
    ociVersion: '1.0.2',
    process: {
      terminal: false,
      user: { uid: launch.user?.uid ?? 0, gid: launch.user?.gid ?? 0, umask: 0o022 },
      oomScoreAdj: 0,
      args: launch.command,
      env: launch.env.map(([name, value]) => `${name}=${value}`),
      cwd: launch.workingDir === '' ? '/' : launch.workingDir,
      capabilities: { bounding: capabilities, effective: capabilities, permitted: capabilities },
      noNewPrivileges: true,
    },
    root: { path: launch.rootFilesystem ?? '/', readonly: false },
    ...(hostname === undefined ? {} : { hostname }),
    mounts: [
      { destination: '/proc', type: 'proc', source: 'proc' },
      { destination: '/dev', type: 'tmpfs', source: 'tmpfs', options: ['nosuid', 'mode=755'] },
      { destination: '/dev/pts', type: 'devpts', source: 'devpts', options: ['nosuid', 'noexec', 'newinstance'] },
      { destination: '/tmp', type: 'tmpfs', source: 'tmpfs', options: ['nosuid', 'nodev'] },
      ...files.map(({ source, target }) => ({
        destination: target,
        type: 'bind',
        source,
        options: ['bind', 'ro'],
      })),
    ],
    linux: {
      namespaces: [...names, ...network],
      maskedPaths: ['/proc/kcore', '/proc/keys', '/proc/sysrq-trigger'],
      readonlyPaths: ['/proc/sys', '/proc/irq', '/proc/bus'],
    },
  }
}
