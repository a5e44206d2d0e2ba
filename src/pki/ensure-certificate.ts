import { createPrivateKey, X509Certificate } from 'node:crypto'
import { join } from 'node:path'
import type { ClusterCa } from './cluster-ca.ts'
import { type CertificateRequest, type IssuedCertificate, issueCertificate, usageOids } from './issue-certificate.ts'
import { readIfThere, writeSecretFile } from './secret-file.ts'

/** A certificate on disk; `isNew` is true if this call wrote it. */
export interface EnsuredCertificate extends IssuedCertificate {
  readonly isNew: boolean
}

/**
 * Reads `<name>.crt` and `<name>.key` of the folder and keeps them if this CA signed them, they carry the requested identity, cover
 * every requested name and have more than a third of their life left; otherwise writes new ones. Throws PkiError.
 */
export async function ensureCertificate(
  ca: ClusterCa,
  folder: string,
  name: string,
  request: CertificateRequest,
  now = new Date(),
): Promise<EnsuredCertificate> {
  const [certPath, keyPath] = [join(folder, `${name}.crt`), join(folder, `${name}.key`)]
  const certPem = await readIfThere(certPath)
  const keyPem = await readIfThere(keyPath)
  if (certPem !== undefined && keyPem !== undefined && isStillGood({ certPem, keyPem }, ca, request, now)) {
    return { certPem, keyPem, isNew: false }
  }
  const issued = await issueCertificate(ca, request, now)
  // A crash between the two leaves a pair that does not match, which the next start replaces.
  await writeSecretFile(keyPath, issued.keyPem)
  await writeSecretFile(certPath, issued.certPem)
  return { ...issued, isNew: true }
}

function isStillGood(found: IssuedCertificate, ca: ClusterCa, request: CertificateRequest, now: Date): boolean {
  try {
    const certificate = new X509Certificate(found.certPem)
    const authority = new X509Certificate(ca.certPem)
    return (
      certificate.checkPrivateKey(createPrivateKey(found.keyPem)) &&
      certificate.checkIssued(authority) &&
      certificate.verify(authority.publicKey) &&
      isFresh(certificate, now) &&
      isAboutSubject(certificate, request) &&
      coversNames(certificate, request) &&
      request.usages.every((usage) => certificate.keyUsage?.includes(usageOids[usage]))
    )
  } catch {
    // A file that is not PEM counts as missing.
    return false
  }
}

function isFresh({ validFromDate, validToDate }: X509Certificate, now: Date): boolean {
  const lifeMs = validToDate.getTime() - validFromDate.getTime()
  return validFromDate <= now && validToDate.getTime() - now.getTime() > lifeMs / 3
}

/** Compares identities exactly: a removed group must not stay in use. */
function isAboutSubject(certificate: X509Certificate, request: CertificateRequest): boolean {
  const { CN, O } = certificate.toLegacyObject().subject
  const organizations = [O ?? []].flat()
  return CN === request.commonName && organizations.join('\n') === (request.organizations ?? []).join('\n')
}

function coversNames(certificate: X509Certificate, { dnsNames = [], ips = [] }: CertificateRequest): boolean {
  return (
    dnsNames.every((name) => certificate.checkHost(name, { subject: 'never' }) !== undefined) &&
    ips.every((ip) => certificate.checkIP(ip) !== undefined)
  )
}
