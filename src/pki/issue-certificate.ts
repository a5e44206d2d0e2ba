import { X509Certificate } from 'node:crypto'
import { isIP } from 'node:net'
import type { ClusterCa } from './cluster-ca.ts'
import { generateKeyPem, toCryptoKeys } from './key-pair.ts'
import { PkiError } from './pki-error.ts'
import { addDays, backdate } from './validity.ts'
import { loadX509 } from './x509-library.ts'

type CertificateUsage = 'server' | 'client'

export interface CertificateRequest {
  /** A client's user name; at most 64 characters (RFC 5280 ub-common-name). */
  readonly commonName: string
  /** A client's groups. */
  readonly organizations?: readonly string[]
  readonly dnsNames?: readonly string[]
  readonly ips?: readonly string[]
  readonly usages: readonly CertificateUsage[]
  readonly days: number
}

/** PEM; the key is PKCS #8. */
export interface IssuedCertificate {
  readonly certPem: string
  readonly keyPem: string
}

/** RFC 5280 section 4.2.1.12 */
export const usageOids: Readonly<Record<CertificateUsage, string>> = {
  server: '1.3.6.1.5.5.7.3.1',
  client: '1.3.6.1.5.5.7.3.2',
}

/** Issues a new key and its certificate, which never outlives the CA's. Throws PkiError `invalid-request`. */
export async function issueCertificate(
  ca: ClusterCa,
  request: CertificateRequest,
  now = new Date(),
): Promise<IssuedCertificate> {
  assertRequest(request)
  const x509 = await loadX509()
  const caCertificate = new x509.X509Certificate(ca.certPem)
  const keyPem = generateKeyPem()
  const { publicKey } = toCryptoKeys(keyPem)
  const certificate = await x509.X509CertificateGenerator.create({
    subject: new x509.Name(subjectNames(request)),
    issuer: caCertificate.subjectName,
    notBefore: backdate(now),
    notAfter: earlier(addDays(now, request.days), new X509Certificate(ca.certPem).validToDate),
    publicKey,
    signingKey: toCryptoKeys(ca.keyPem).privateKey,
    extensions: [
      new x509.BasicConstraintsExtension(false, undefined, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.digitalSignature, true),
      new x509.ExtendedKeyUsageExtension(request.usages.map((usage) => usageOids[usage])),
      await x509.SubjectKeyIdentifierExtension.create(publicKey),
      await x509.AuthorityKeyIdentifierExtension.create(caCertificate.publicKey),
      ...alternativeNames(request).map((names) => new x509.SubjectAlternativeNameExtension(names)),
    ],
  })
  return { certPem: `${certificate.toString('pem')}\n`, keyPem }
}

/** Encodes names as typed values, because the library interprets `"`, `#` and other characters in plain strings. */
function subjectNames({
  commonName,
  organizations = [],
}: CertificateRequest): Record<string, { utf8String: string }[]>[] {
  return [...organizations.map((name) => ({ O: [{ utf8String: name }] })), { CN: [{ utf8String: commonName }] }]
}

interface AlternativeName {
  readonly type: 'dns' | 'ip'
  readonly value: string
}

/** Returns a list with the extension, or an empty list: the extension itself must not be empty. */
function alternativeNames({ dnsNames = [], ips = [] }: CertificateRequest): AlternativeName[][] {
  const names = [
    ...dnsNames.map((value) => ({ type: 'dns' as const, value })),
    ...ips.map((value) => ({ type: 'ip' as const, value })),
  ]
  return names.length === 0 ? [] : [names]
}

function assertRequest({ commonName, organizations = [], dnsNames = [], ips = [], ...rest }: CertificateRequest): void {
  for (const name of [commonName, ...organizations]) {
    if (!isPlainName(name))
      throw invalid(`a name of 1 to 64 printable characters was expected, not ${JSON.stringify(name)}`)
  }
  const badDns = dnsNames.find((name) => !/^(\*\.)?[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?$/i.test(name))
  if (badDns !== undefined) throw invalid(`a DNS name was expected, not ${JSON.stringify(badDns)}`)
  const badIp = ips.find((ip) => isIP(ip) === 0)
  if (badIp !== undefined) throw invalid(`an IP address was expected, not ${JSON.stringify(badIp)}`)
  if (rest.usages.length === 0) throw invalid('a usage was expected: server, client or both')
  if (rest.usages.includes('server') && dnsNames.length + ips.length === 0) {
    throw invalid('a server needs a DNS name or an address: clients ignore the common name')
  }
  if (!(rest.days > 0)) throw invalid(`a lifetime above 0 days was expected, not ${rest.days}`)
}

function isPlainName(name: string): boolean {
  return /^[\x20-\x7e]{1,64}$/.test(name)
}

function invalid(message: string): PkiError {
  return new PkiError('invalid-request', `certificate request: ${message}`)
}

function earlier(a: Date, b: Date): Date {
  return a < b ? a : b
}
