import { realpath, rm, stat } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { describeError } from '../../model/errors.ts'
import type { VolumeNames } from '../../model/volume-names.ts'
import type { Volume } from '../objects/volume.ts'

/** The result of the reclaim policy of a released volume: nothing, a volume that can go, or the reason of a failure. */
export type Reclaimed =
  | { readonly kind: 'kept' }
  | { readonly kind: 'deleted' }
  | { readonly kind: 'failed'; readonly reason: string; readonly message: string }

/**
 * Carries out the reclaim policy of a released volume. A volume of an external provisioner is left to it. Of all others
 * only folders below /tmp of this machine are deleted, as by kube-controller-manager; recycling does not exist here.
 */
export async function reclaim(volume: Volume, names: VolumeNames): Promise<Reclaimed> {
  const { persistentVolumeReclaimPolicy: policy, hostPath } = volume.spec
  if (policy === 'Recycle')
    return failed('VolumeFailedRecycle', 'the policy Recycle is not supported: delete the volume and make a new one')
  if (policy !== 'Delete' || volume.metadata.annotations[names.provisionedBy] !== undefined) return { kind: 'kept' }
  if (hostPath === undefined)
    return failed(
      'VolumeFailedDelete',
      `error getting deleter volume plugin for volume "${volume.metadata.name}": no deletable volume plugin matched`,
    )
  const why = await deleteFolder(hostPath.path)
  return why === undefined ? { kind: 'deleted' } : failed('VolumeFailedDelete', why)
}

function failed(reason: string, message: string): Reclaimed {
  return { kind: 'failed', reason, message }
}

const deletable = /^\/tmp\/./

/**
 * Deletes a folder below /tmp; returns why it could not. The path may not lead out of /tmp, nor pass a folder of
 * another user, who could put a link in its place meanwhile.
 */
async function deleteFolder(path: string): Promise<string | undefined> {
  if (!deletable.test(path)) return `host_path deleter only supports /tmp/.+ but received provided ${path}`
  try {
    const folder = await realpath(dirname(path))
    const target = join(folder, basename(path))
    if (!deletable.test(target)) return `the path ${path} leads out of /tmp`
    if (await isOfOthers(folder)) return `the path ${path} passes a folder of another user`
    await rm(target, { recursive: true, force: true })
    return undefined
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    return `host_path ${path} could not be deleted: ${describeError(error)}`
  }
}

/** Checks the folders between /tmp and a path. */
async function isOfOthers(folder: string): Promise<boolean> {
  if (folder === '/tmp') return false
  return (await stat(folder)).uid !== process.getuid?.() || isOfOthers(dirname(folder))
}
