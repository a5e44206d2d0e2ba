import { randomBytes } from 'node:crypto'
import { PkiError } from './pki-error.ts'
import { createSecretFile, readIfThere } from './secret-file.ts'

/** RFC 6750 section 2.1 */
const tokenPattern = /^[A-Za-z0-9._~+/-]{16,}=*$/

/** Reads the token of the file, or creates the file with a random one of 256 bits. Throws PkiError `token-invalid`, `unreadable`, `unwritable`. */
export async function ensureToken(path: string): Promise<string> {
  const text = (await readIfThere(path)) ?? (await createSecretFile(path, `${randomBytes(32).toString('base64url')}\n`))
  const token = text.trim()
  if (tokenPattern.test(token)) return token
  throw new PkiError(
    'token-invalid',
    `${path} holds no bearer token: one line of at least 16 letters, digits or ._~+/- was expected`,
    {
      remedy: 'remove the file to get a new token',
    },
  )
}
