import { X509Certificate } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import type { Extension } from '@peculiar/x509'
import { readCertificateRequest, type SignableRequest } from './certificate-request.ts'
import type { ClusterCa } from './cluster-ca.ts'
import { toCryptoKeys } from './key-pair.ts'
import { PkiError } from './pki-error.ts'
import { backdate } from './validity.ts'
import { loadX509 } from './x509-library.ts'

export interface SigningTerms {
  /** The usages in the spelling of certificates.k8s.io/v1: `digital signature`, `client auth`. */
  readonly usages: readonly string[]
  readonly seconds: number
}

type X509Library = Awaited<ReturnType<typeof loadX509>>

/** A lifetime below this is given in full: what the start was dated back is not taken from it. */
const shortSeconds = 8 * 60 * 60

/**
 * Signs a certificate request with its subject and alternative names; other extensions of the request are dropped. The
 * certificate is dated back by five minutes and ends with the CA at the latest. Throws PkiError `invalid-request` and
 * `ca-expired`.
 */
export async function signRequest(
  ca: ClusterCa,
  requestPem: string,
  terms: SigningTerms,
  now = new Date(),
): Promise<string> {
  const request = await readCertificateRequest(requestPem)
  const x509 = await loadX509()
  const caCertificate = new x509.X509Certificate(ca.certPem)
  const certificate = await x509.X509CertificateGenerator.create({
    subject: request.subject,
    issuer: caCertificate.subjectName,
    notBefore: backdate(now),
    notAfter: endOf(terms.seconds, now, new X509Certificate(ca.certPem).validToDate),
    publicKey: request.publicKey,
    signingKey: toCryptoKeys(ca.keyPem).privateKey,
    extensions: [
      ...extensionsOf(x509, request, terms.usages),
      await x509.AuthorityKeyIdentifierExtension.create(caCertificate.publicKey),
    ],
  })
  const pem = `${certificate.toString('pem')}\n`
  assertReadAlike(pem, request)
  return pem
}

function endOf(seconds: number, now: Date, caEnd: Date): Date {
  if (caEnd <= now) throw new PkiError('ca-expired', `the CA expired at ${caEnd.toISOString()}`)
  const start = seconds < shortSeconds ? now : backdate(now)
  return new Date(Math.min(start.getTime() + seconds * 1000, caEnd.getTime()))
}

function extensionsOf(x509: X509Library, request: SignableRequest, usages: readonly string[]): Extension[] {
  const flags = usages.flatMap((usage) => keyUsageOf(x509, usage) ?? [])
  const extended = usages.flatMap((usage) => extendedUsages.get(usage) ?? [])
  const { names } = request
  return [
    new x509.BasicConstraintsExtension(false, undefined, true),
    ...(flags.length === 0
      ? []
      : [
          new x509.KeyUsagesExtension(
            flags.reduce((sum, flag) => sum | flag, 0),
            true,
          ),
        ]),
    ...(extended.length === 0 ? [] : [new x509.ExtendedKeyUsageExtension(extended)]),
    ...(names.length === 0
      ? []
      : [new x509.SubjectAlternativeNameExtension(names.map(({ type, value }) => ({ type, value })))]),
  ]
}

/** Returns the bit of RFC 5280 section 4.2.1.3 of the usages that the cluster's signers allow. */
function keyUsageOf({ KeyUsageFlags }: X509Library, usage: string): number | undefined {
  if (usage === 'digital signature') return KeyUsageFlags.digitalSignature
  return usage === 'key encipherment' ? KeyUsageFlags.keyEncipherment : undefined
}

/** RFC 5280 section 4.2.1.12 */
const extendedUsages: ReadonlyMap<string, string> = new Map([
  ['server auth', '1.3.6.1.5.5.7.3.1'],
  ['client auth', '1.3.6.1.5.5.7.3.2'],
])

/**
 * Checks that the server, which reads certificates with another library than this room, finds the names of the request
 * in the certificate: a name must be the same to the one who approves it and to the one who authenticates by it.
 */
function assertReadAlike(certPem: string, { commonNames, organizations }: SignableRequest): void {
  const subject = subjectOf(certPem)
  const isSame =
    isDeepStrictEqual(asList(subject?.CN), commonNames) && isDeepStrictEqual(asList(subject?.O), organizations)
  if (!isSame) throw new PkiError('invalid-request', 'certificate request: the subject can be read in several ways')
}

function subjectOf(certPem: string) {
  try {
    return new X509Certificate(certPem).toLegacyObject().subject
  } catch {
    // OpenSSL knows fewer types of text than the library that signs.
    return undefined
  }
}

function asList(value: string | readonly string[] | undefined): readonly string[] {
  return value === undefined ? [] : [value].flat()
}
