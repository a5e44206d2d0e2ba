import { createWriteStream } from 'node:fs'
import { rename, rm } from 'node:fs/promises'
import { pipeline } from 'node:stream/promises'
import { backUpFile, restoreFile, StoreError } from '../../api/store/index.ts'
import { ApiClient, loadKubeconfig } from '../../client/index.ts'
import type { DialectName } from '../../model/dialect.ts'
import { dataPaths } from '../composition/cluster-files.ts'

export interface StoreOnDisk {
  readonly dataDir: string
  readonly dialect: DialectName
}

/** Copies the store to a file: from the running server with the admin kubeconfig, or from the data directory if no server runs. */
export async function backUp({ dataDir, dialect }: StoreOnDisk, file: string): Promise<void> {
  const paths = dataPaths(dataDir)
  const temporary = `${file}.part`
  await rm(temporary, { force: true })
  try {
    try {
      backUpFile(paths.store, dialect, temporary)
    } catch (thrown) {
      if (!(thrown instanceof StoreError) || thrown.code !== 'store-locked') throw thrown
      await download(paths.adminKubeconfig, temporary)
    }
    await rename(temporary, file)
  } catch (thrown) {
    const cause = findFileError(thrown, temporary)
    if (cause === undefined) throw thrown
    throw new StoreError('backup-failed', `the backup ${file} cannot be written`, { cause })
  } finally {
    await rm(temporary, { force: true })
  }
}

/** Finds among the causes the error with which the system refused that file, such as ENOENT for its folder. */
function findFileError(error: unknown, file: string): Error | undefined {
  if (!(error instanceof Error)) return undefined
  return 'path' in error && error.path === file ? error : findFileError(error.cause, file)
}

/** Replaces the store with a backup. Returns the revision at which the store continues. Throws StoreError. */
export function restore({ dataDir, dialect }: StoreOnDisk, backup: string, force: boolean): number {
  return restoreFile({ backup, store: dataPaths(dataDir).store, dialect, force, nowMs: Date.now() })
}

async function download(kubeconfig: string, file: string): Promise<void> {
  const client = new ApiClient(await loadKubeconfig(kubeconfig))
  try {
    await client.download('/platnet/backup', (chunks) =>
      pipeline(chunks, createWriteStream(file, { mode: 0o600, flush: true })),
    )
  } finally {
    client.close()
  }
}
