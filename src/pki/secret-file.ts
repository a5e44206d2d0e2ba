import { randomUUID } from 'node:crypto'
import { link, mkdir, open, readFile, rename, rm } from 'node:fs/promises'
import { dirname } from 'node:path'
import { describeError } from '../model/errors.ts'
import { PkiError } from './pki-error.ts'

const ownerOnly = 0o600

/** Replaces the file in one step, with mode 0600: a reader finds the whole old text or the whole new one. Throws PkiError `unwritable`. */
export async function writeSecretFile(path: string, text: string): Promise<void> {
  await place(path, text, (temporary) => rename(temporary, path))
}

/** Creates the file like `writeSecretFile`, but keeps one that exists. Returns the text of the file, which another process may have written. */
export async function createSecretFile(path: string, text: string): Promise<string> {
  let isTaken = false
  await place(path, text, async (temporary) => {
    try {
      await link(temporary, path)
    } catch (thrown) {
      isTaken = hasCode(thrown, 'EEXIST')
      if (!isTaken) throw thrown
    }
  })
  return isTaken ? ((await readIfThere(path)) ?? text) : text
}

/** Reads the file; undefined if it does not exist. Throws PkiError `unreadable`. */
export async function readIfThere(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, 'utf8')
  } catch (thrown) {
    if (hasCode(thrown, 'ENOENT')) return undefined
    throw new PkiError('unreadable', `${path} could not be read: ${describeError(thrown)}`, { cause: thrown })
  }
}

async function place(path: string, text: string, moveIn: (temporary: string) => Promise<void>): Promise<void> {
  const temporary = `${path}.${randomUUID()}.tmp`
  try {
    await mkdir(dirname(path), { recursive: true, mode: 0o700 })
    await writeDurably(temporary, text)
    await moveIn(temporary)
    await syncFolder(dirname(path))
  } catch (thrown) {
    throw new PkiError('unwritable', `${path} could not be written: ${describeError(thrown)}`, { cause: thrown })
  } finally {
    await rm(temporary, { force: true })
  }
}

async function writeDurably(path: string, text: string): Promise<void> {
  await using file = await open(path, 'wx', ownerOnly)
  await file.writeFile(text)
  await file.sync()
}

async function syncFolder(folder: string): Promise<void> {
  await using handle = await open(folder, 'r')
  await handle.sync()
}

function hasCode(thrown: unknown, code: string): boolean {
  return thrown instanceof Error && 'code' in thrown && thrown.code === code
}
