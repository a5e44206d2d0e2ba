import { createHash, X509Certificate } from 'node:crypto'
import type { RoutingTable } from '../../../model/routing-table.ts'
import { isServableHost } from './map-entries.ts'

type Certificate = RoutingTable['certificates'][number]

/** The certificate for clients that ask for no name, or for one without a certificate. Its file has one name, so that its content can be replaced. */
export const defaultCertificateFile = 'certificates/default.pem'
export const certificateList = 'certificates.list'

/** Matches no name that a client asks for: the default certificate would otherwise be served for its own names before those that Ingresses name. */
const unaskedName = 'default.invalid'

/** A certificate as haproxy gets it. */
export interface CertificateFile {
  readonly file: string
  readonly certificate: Certificate
  readonly hosts: readonly string[]
}

/** Chooses the files of all certificates but the default one; one that names an impossible host has none. */
export function certificateFiles(certificates: readonly Certificate[]): CertificateFile[] {
  const listed = certificates.filter(({ hosts }) => hosts.some((host) => host !== '') && hosts.every(isServableHost))
  const files = listed.map((certificate) => {
    const hosts = [...new Set(certificate.hosts)].filter((host) => host !== '').sort()
    return { file: fileOf(certificate.fingerprint, hosts), certificate, hosts }
  })
  return [...new Map(files.map((each) => [each.file, each])).values()]
}

export function findDefaultCertificate(certificates: readonly Certificate[]): Certificate | undefined {
  return certificates.find(({ hosts }) => hosts.length === 0)
}

/** Computes the SHA-1 fingerprint in hex that haproxy shows for a certificate; undefined for a text that is none. */
export function certificateHash(chainPem: string): string | undefined {
  try {
    return new X509Certificate(chainPem).fingerprint.replaceAll(':', '').toLowerCase()
  } catch {
    return undefined
  }
}

/** A line of the list for a certificate with its names. */
export function listLine(file: string, hosts: readonly string[]): string {
  return `${file} ${(file === defaultCertificateFile ? [unaskedName] : hosts).join(' ')}`
}

/** Writes chain and key as PEM without anything between the blocks: an empty line would end a command of the socket. */
export function pemText({ chainPem, keyPem }: Certificate): string {
  const blocks = `${chainPem}\n${keyPem}`.match(/-----BEGIN ([A-Z0-9 ]+)-----[A-Za-z0-9+/=\s]*-----END \1-----/g) ?? []
  return blocks.map((block) => `${block.split(/\s*\n\s*/).join('\n')}\n`).join('')
}

function fileOf(fingerprint: string, hosts: readonly string[]): string {
  const hash = createHash('sha256')
    .update(JSON.stringify([fingerprint, hosts]))
    .digest('hex')
  return `certificates/${hash.slice(0, 40)}.pem`
}
