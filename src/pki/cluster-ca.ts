import { createHash, createPrivateKey, createPublicKey, type KeyObject, X509Certificate } from 'node:crypto'
import { join } from 'node:path'
import { describeError } from '../model/errors.ts'
import { generateKeyPem, isP256, toCryptoKeys } from './key-pair.ts'
import { PkiError } from './pki-error.ts'
import { createSecretFile, readIfThere } from './secret-file.ts'
import { addDays, backdate } from './validity.ts'
import { loadX509 } from './x509-library.ts'

const caDays = 3650

/** The cluster's certificate authority, PEM. */
export interface ClusterCa {
  readonly certPem: string
  readonly keyPem: string
}

/**
 * Reads the CA of the folder (`ca.crt`, `ca.key`), or creates it. A key without a certificate, which an interrupted first start leaves,
 * gets a new certificate; existing files are never replaced. Throws PkiError.
 */
export async function ensureClusterCa(folder: string, now = new Date()): Promise<ClusterCa> {
  const [certPath, keyPath] = [join(folder, 'ca.crt'), join(folder, 'ca.key')]
  const foundCert = await readIfThere(certPath)
  const foundKey = await readIfThere(keyPath)
  if (foundCert !== undefined && foundKey === undefined) throw keyMissing(certPath, keyPath)
  const keyPem = foundKey ?? (await createSecretFile(keyPath, generateKeyPem()))
  const key = parseKey(keyPem, keyPath)
  const certPem = foundCert ?? (await createSecretFile(certPath, await signCaCertificate(keyPem, now)))
  assertCaCertificate(certPem, certPath, key, keyPath, now)
  return { certPem, keyPem }
}

/** Creates the certificate, PEM, of a CA that signs nothing: its key is not kept. */
export function createClosedCa(prefix: string, now = new Date()): Promise<string> {
  return signCaCertificate(generateKeyPem(), now, prefix)
}

async function signCaCertificate(keyPem: string, now: Date, prefix = 'platnet-ca'): Promise<string> {
  const x509 = await loadX509()
  const keys = toCryptoKeys(keyPem)
  const usages = x509.KeyUsageFlags.keyCertSign | x509.KeyUsageFlags.cRLSign | x509.KeyUsageFlags.digitalSignature
  const certificate = await x509.X509CertificateGenerator.createSelfSigned({
    name: [{ CN: [nameOfCa(keyPem, prefix)] }],
    notBefore: backdate(now),
    notAfter: addDays(now, caDays),
    keys,
    extensions: [
      new x509.BasicConstraintsExtension(true, undefined, true),
      new x509.KeyUsagesExtension(usages, true),
      await x509.SubjectKeyIdentifierExtension.create(keys.publicKey),
    ],
  })
  return `${certificate.toString('pem')}\n`
}

/** Derives the CA's name from its key, so that the CAs of two clusters differ and a new certificate for the same key is the same authority. */
function nameOfCa(keyPem: string, prefix: string): string {
  const publicKey = createPublicKey(keyPem).export({ type: 'spki', format: 'der' })
  return `${prefix}-${createHash('sha256').update(publicKey).digest('hex').slice(0, 8)}`
}

function parseKey(keyPem: string, path: string): KeyObject {
  const key = parse(path, () => createPrivateKey(keyPem))
  if (!isP256(key)) throw new PkiError('ca-invalid', `${path} holds no ECDSA P-256 key`)
  return key
}

function assertCaCertificate(certPem: string, certPath: string, key: KeyObject, keyPath: string, now: Date): void {
  const certificate = parse(certPath, () => new X509Certificate(certPem))
  if (!certificate.ca) throw new PkiError('ca-invalid', `${certPath} is not the certificate of a CA`)
  if (!certificate.checkPrivateKey(key)) {
    throw new PkiError('ca-mismatch', `${certPath} and ${keyPath} do not belong together`, {
      remedy: 'put back the two files that were made together',
    })
  }
  if (certificate.validToDate <= now) {
    throw new PkiError('ca-expired', `${certPath} expired at ${certificate.validToDate.toISOString()}`, {
      remedy: `move ${certPath} away: the next start makes a new one for the same key; then give it to every client`,
    })
  }
}

function parse<T>(path: string, read: () => T): T {
  try {
    return read()
  } catch (thrown) {
    throw new PkiError('ca-invalid', `${path} is not readable PEM: ${describeError(thrown)}`, {
      remedy:
        'restore the file from a backup; moving both ca files away makes a new CA, which no existing client trusts',
      cause: thrown,
    })
  }
}

function keyMissing(certPath: string, keyPath: string): PkiError {
  return new PkiError('ca-key-missing', `${certPath} is there without ${keyPath}`, {
    remedy: `put the key back, or move ${certPath} away to make a new CA, which no existing client trusts`,
  })
}
