import type { GeneralName, Name, Pkcs10CertificateRequest, SubjectAlternativeNameExtension } from '@peculiar/x509'
import { describeError } from '../model/errors.ts'
import type { RequestedCertificate } from '../model/signing.ts'
import { PkiError } from './pki-error.ts'
import { loadX509 } from './x509-library.ts'

/** A request with its parts in the form in which a certificate takes them. */
export interface SignableRequest extends RequestedCertificate {
  readonly subject: Name
  readonly publicKey: Pkcs10CertificateRequest['publicKey']
  /** The alternative names that certificates keep: DNS names, addresses, mail addresses, URIs. */
  readonly names: readonly GeneralName[]
}

const alternativeNameOid = '2.5.29.17'
const keptTypes = ['dns', 'ip', 'email', 'url']

/**
 * Reads a certificate request (PKCS #10, RFC 2986) and verifies that its key signed it. Of several PEM blocks the first
 * counts. Throws PkiError `invalid-request`.
 */
export async function readCertificateRequest(requestPem: string): Promise<SignableRequest> {
  const request = await parseRequest(derOf(requestPem))
  const names = namesOf(request)
  const valuesOf = (type: string) => names.filter((name) => name.type === type).map(({ value }) => value)
  return {
    commonNames: request.subjectName.getField('CN'),
    organizations: request.subjectName.getField('O'),
    dnsNames: valuesOf('dns'),
    ips: valuesOf('ip'),
    emails: valuesOf('email'),
    uris: valuesOf('url'),
    subject: request.subjectName,
    publicKey: request.publicKey,
    names,
  }
}

/** Returns the bytes of the first PEM block, which must be a request without headers. */
function derOf(requestPem: string): Buffer {
  const block = /-----BEGIN ([A-Z0-9 ]+)-----([A-Za-z0-9+/=\s]*)-----END \1-----/.exec(requestPem)
  const [, type, base64 = ''] = block ?? []
  if (type !== 'CERTIFICATE REQUEST') throw invalid('PEM block type must be CERTIFICATE REQUEST')
  return Buffer.from(base64, 'base64')
}

async function parseRequest(der: Buffer): Promise<Pkcs10CertificateRequest> {
  const x509 = await loadX509()
  const request = parsed(() => new x509.Pkcs10CertificateRequest(new Uint8Array(der)))
  const isSigned = await request.verify().catch((thrown: unknown) => {
    throw invalid(describeError(thrown), thrown)
  })
  if (!isSigned) throw invalid('the signature is not one of the key in the request')
  return request
}

function parsed<T>(read: () => T): T {
  try {
    return read()
  } catch (thrown) {
    throw thrown instanceof PkiError ? thrown : invalid(describeError(thrown), thrown)
  }
}

function namesOf(request: Pkcs10CertificateRequest): readonly GeneralName[] {
  return parsed(() => {
    const extension = request.getExtension(alternativeNameOid) as SubjectAlternativeNameExtension | null
    return extension?.names.items.filter(({ type }) => keptTypes.includes(type)) ?? []
  })
}

function invalid(message: string, cause?: unknown): PkiError {
  return new PkiError('invalid-request', `certificate request: ${message}`, cause === undefined ? {} : { cause })
}
