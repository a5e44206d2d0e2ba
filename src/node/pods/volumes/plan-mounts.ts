import type { MountSpec, VolumeSpec } from './volume-spec.ts'

/** A volume of the pod at a path in a container; all supported volumes are read-only. */
export interface Mount {
  readonly volume: string
  /** Absolute, without "." and "..". */
  readonly target: string
}

interface Mounting {
  readonly volumes: readonly VolumeSpec[]
}

/** Volumes cannot replace these folders: the container's own view of the machine is there. */
const whole = ['/', '/dev', '/etc']
const withAllBelow = ['/proc', '/sys']

/** Plans the mounts of a container. Throws TypeError, which names an unsupported feature. Pure. */
export function planMounts({ volumes }: Mounting, mounts: readonly MountSpec[]): readonly Mount[] {
  return mounts.map((mount) => planMount(volumes, mount)).toSorted((a, b) => (a.target < b.target ? -1 : 1))
}

function planMount(volumes: readonly VolumeSpec[], mount: MountSpec): Mount {
  const volume = volumes.find(({ name }) => name === mount.name)
  if (volume === undefined) throw new TypeError(`volumeMounts: the pod has no volume ${JSON.stringify(mount.name)}`)
  const refuse = (what: string, why: string) => new TypeError(`volume ${volume.name}: ${what} is not supported: ${why}`)
  if (volume.kind === 'unsupported')
    throw refuse(volume.what, 'volumes here are configMap, secret, downwardAPI and projected ones of these and tokens')
  if (mount.subPath !== '' || mount.subPathExpr !== '') throw refuse('subPath', 'volumes are mounted as a whole')
  if (mount.mountPropagation !== 'None')
    throw refuse(`mountPropagation ${mount.mountPropagation}`, 'no mount leaves a container or comes to it')
  const target = plainPath(mount.mountPath)
  if (target === undefined) throw refuse(`mountPath ${mount.mountPath}`, 'expected an absolute path without ".."')
  const isTaken = whole.includes(target) || withAllBelow.some((path) => `${target}/`.startsWith(`${path}/`))
  if (isTaken) throw refuse(`mountPath ${target}`, "the container's own view of the machine is there")
  return { volume: volume.name, target }
}

/** Removes empty and `.` segments; undefined for a relative path or one with `..`. */
function plainPath(path: string): string | undefined {
  const names = path.split('/').filter((name) => name !== '' && name !== '.')
  if (!path.startsWith('/') || names.includes('..')) return undefined
  return `/${names.join('/')}`
}
