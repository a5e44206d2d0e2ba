import { stat } from 'node:fs/promises'
import { readRegularFile } from './regular-file.ts'

/** A file that changes twice within the clock's step has the same times before and after. */
const settledMs = 2_000

/** Reads regular files that are looked at again and again, each only when the system says that it has changed. */
export class KeptFiles {
  readonly #kept = new Map<string, { readonly signature: string; readonly bytes: Buffer }>()

  /** Returns the bytes of a file like `readRegularFile`; the same ones, which must not be changed, while the file is the same. Throws FileError. */
  async read(path: string, maxBytes: number): Promise<Buffer> {
    const signature = await signatureOf(path)
    const kept = this.#kept.get(path)
    if (kept !== undefined && kept.signature === signature && kept.bytes.length <= maxBytes) return kept.bytes
    this.#kept.delete(path)
    const bytes = await readRegularFile(path, maxBytes)
    if (signature !== undefined) this.#kept.set(path, { signature, bytes })
    return bytes
  }
}

/** Undefined where equal signatures would not mean an equal file: without a file, in `/proc`, and shortly after a change. */
async function signatureOf(path: string): Promise<string | undefined> {
  const found = await stat(path, { bigint: true }).catch(() => undefined)
  if (found === undefined || found.size === 0n || Number(found.ctimeMs) > Date.now() - settledMs) return undefined
  return [found.dev, found.ino, found.size, found.mtimeNs, found.ctimeNs].join(' ')
}
