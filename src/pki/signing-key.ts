import { createPrivateKey } from 'node:crypto'
import { generateKeyPem, isP256 } from './key-pair.ts'
import { PkiError } from './pki-error.ts'
import { createSecretFile, readIfThere } from './secret-file.ts'

/** Reads the ECDSA P-256 key of the file (PEM), or creates the file. Throws PkiError `key-invalid`, `unreadable`, `unwritable`. */
export async function ensureSigningKey(path: string): Promise<string> {
  const pem = (await readIfThere(path)) ?? (await createSecretFile(path, generateKeyPem()))
  if (isPrivateP256(pem)) return pem
  throw new PkiError('key-invalid', `${path} holds no private ECDSA P-256 key in PEM`, {
    remedy: 'put the key back, or remove the file to get a new one: what the old one signed is then refused',
  })
}

function isPrivateP256(pem: string): boolean {
  try {
    return isP256(createPrivateKey(pem))
  } catch {
    return false
  }
}
