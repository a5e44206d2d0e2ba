import { randomUUID } from 'node:crypto'
import { link, mkdir, open, readFile, rename, rm } from 'node:fs/promises'
import { dirname } from 'node:path'
import { describeError } from '../model/errors.ts'
import { PkiError } from './pki-error.ts'

const ownerOnly = 0o600

/** Replaces the file in one step, readable by its owner only; whoever reads it finds the old text or the new one, whole. Throws PkiError `unwritable`. */
export async function writeSecretFile(path: string, text: string): Promise<void> {
  await place(path, text, (temporary) => rename(temporary, path))
}

/** As above, but never over a file that is there: gives the text that stands there then, which may be another's. */
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

/** The file's text, undefined if there is none. Throws PkiError `unreadable`. */
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
