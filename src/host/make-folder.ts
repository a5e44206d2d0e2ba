import { mkdir, stat } from 'node:fs/promises'
import { dirname } from 'node:path'
import { describeError, PlatnetError } from '../model/errors.ts'

class FolderError extends PlatnetError<'not-made'> {}

/**
 * Makes a folder with those above it; `option` names the flag that chooses it. Throws FolderError at once. `recursive` of `mkdir` is not
 * used, because it tries for ever where a parent cannot hold folders (such as `/proc/x`).
 */
export async function makeFolder(path: string, option: string, mode = 0o700): Promise<void> {
  try {
    await makeWithParents(path, mode)
  } catch (cause) {
    throw new FolderError('not-made', `the folder ${path} cannot be made: ${describeError(cause)}`, {
      remedy: `name a folder that this user may write with ${option}`,
      cause,
    })
  }
}

async function makeWithParents(path: string, mode: number): Promise<void> {
  if (await isFolder(path)) return
  const parent = dirname(path)
  if (parent !== path) await makeWithParents(parent, mode)
  await mkdir(path, { mode }).catch(async (error: unknown) => {
    // Another process may have made it meanwhile.
    if (!(await isFolder(path))) throw error
  })
}

async function isFolder(path: string): Promise<boolean> {
  const found = await stat(path).catch(() => undefined)
  return found?.isDirectory() === true
}
