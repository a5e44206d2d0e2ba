import { z } from 'zod'
import { declareOptions, filePath, filePathList, flagValue } from '../../config/index.ts'

const commands = ['run', 'agent'] as const

/** The values of `--pod-network`. */
export const podNetworks = ['auto', 'host-gw', 'vxlan', 'container-bridge'] as const

/** Folders that pods must not see; a folder that contains one is refused too. */
const secretFolders = ['/boot', '/dev', '/etc', '/proc', '/root', '/run', '/sys', '/var/lib/platnet', '/var/run']
const expectedFolder = `expected absolute folders, without "." and "..", that contain none of ${secretFolders.join(', ')}`

function isShowable(folder: string): boolean {
  const isPlain = /^(\/(?!\.{1,2}(\/|$))[^/]+)+$/.test(folder)
  return isPlain && !secretFolders.some((secret) => secret === folder || secret.startsWith(`${folder}/`))
}

export const podsOptions = declareOptions({
  runPods: {
    schema: flagValue,
    flag: '--run-pods [boolean]',
    default: false,
    reload: 'restart',
    commands,
    description:
      "Run the pods that are bound to this node and whose namespace has the label pods.<platform domain>/run=true, as processes with the host's programs or in a container engine",
  },
  podHostFolders: {
    schema: filePathList.refine((folders) => folders.every(isShowable), { error: expectedFolder }).optional(),
    flag: '--pod-host-folders <folders>',
    reload: 'restart',
    commands,
    description: 'Folders of this machine that pods can read, beside /usr and parts of /etc',
    example: '/opt/app,/srv/www',
  },
  podRootFilesystems: {
    schema: filePath.refine(isShowable, { error: expectedFolder }).optional(),
    flag: '--pod-root-filesystems <folder>',
    reload: 'restart',
    commands,
    description: 'The folder whose subfolders pods may use as a writable root filesystem; none when not set',
    example: '/srv/pod-roots',
  },
  podNetwork: {
    schema: z.enum(podNetworks, { error: `expected one of: ${podNetworks.join(', ')}` }),
    flag: '--pod-network <kind>',
    default: 'auto',
    reload: 'restart',
    commands,
    description:
      'The network of pods: CNI with routes to the pods of other nodes (host-gw) or with a VXLAN device (vxlan), or the bridge of a container engine (container-bridge); auto is host-gw if namespaces work, else container-bridge',
  },
  engineSocket: {
    schema: filePath.optional(),
    flag: '--engine-socket <path>',
    reload: 'restart',
    commands,
    description: 'The socket of the container engine (Docker or Podman) for container-bridge; detected when not set',
    example: '/run/podman/podman.sock',
  },
  podsDir: {
    schema: filePath.optional(),
    flag: '--pods-dir <folder>',
    reload: 'restart',
    commands,
    description:
      "The folder of this node's pods with their state and logs; the folder pods of the data directory when not set",
    example: '/var/lib/platnet/pods',
  },
})
