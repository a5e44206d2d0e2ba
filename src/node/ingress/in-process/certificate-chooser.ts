import { X509Certificate } from 'node:crypto'
import { createSecureContext, type SecureContext, type SecureContextOptions } from 'node:tls'
import type { HostPattern, ServedCertificate } from '../../../model/routing-table.ts'

/** Finds the certificates for a name that a client asks for (SNI, RFC 6066 section 3); contexts are made at the first use. */
export class CertificateChooser {
  #byHost: ReadonlyMap<HostPattern, readonly ServedCertificate[]> = new Map()
  #contexts = new Map<string, SecureContext>()

  replace(certificates: readonly ServedCertificate[]): void {
    const byHost = new Map<HostPattern, ServedCertificate[]>()
    for (const certificate of certificates) {
      const hosts = certificate.hosts.length === 0 ? [''] : certificate.hosts
      for (const host of hosts) byHost.getOrInsert(host, []).push(certificate)
    }
    this.#byHost = byHost
    const kept = new Set(Array.from(byHost.values(), contextKey))
    this.#contexts = new Map(this.#contexts.entries().filter(([key]) => kept.has(key)))
  }

  /** The context for a name; the default one for other names and the empty one; undefined where there is none. */
  contextFor(serverName: string): SecureContext | undefined {
    const name = serverName.toLowerCase()
    const dot = name.indexOf('.')
    const found = this.#byHost.get(name) ?? (dot > 0 ? this.#byHost.get(`*${name.slice(dot)}`) : undefined)
    const certificates = found ?? this.#byHost.get('')
    return certificates && this.#contextOf(certificates)
  }

  /** The certificates for clients that ask for no name. */
  get defaults(): readonly ServedCertificate[] {
    return this.#byHost.get('') ?? []
  }

  #contextOf(certificates: readonly ServedCertificate[]): SecureContext {
    const key = contextKey(certificates)
    const known = this.#contexts.get(key)
    if (known !== undefined) return known
    const context = createSecureContext(secureOptions([preferred(certificates)]))
    this.#contexts.set(key, context)
    return context
  }
}

/** The options of a TLS context with these certificates. */
export function secureOptions(certificates: readonly ServedCertificate[]): SecureContextOptions {
  return {
    cert: certificates.map(({ chainPem }) => chainPem),
    key: certificates.map(({ keyPem }) => keyPem),
    minVersion: 'TLSv1.2',
  }
}

/**
 * Chooses the certificate of a name that has one of each kind of key. Node takes one alone from a context that SNI has chosen. Every
 * client of TLS 1.2 that is not very old takes ECDSA.
 */
function preferred(certificates: readonly ServedCertificate[]): ServedCertificate {
  const isEcdsa = ({ chainPem }: ServedCertificate) =>
    new X509Certificate(chainPem).publicKey.asymmetricKeyType === 'ec'
  const [first] = certificates
  if (first === undefined) throw new TypeError('a name has no certificate')
  return certificates.length === 1 ? first : (certificates.find(isEcdsa) ?? first)
}

/** A host may have one certificate of each kind of key. */
function contextKey(certificates: readonly ServedCertificate[]): string {
  return certificates.map(({ fingerprint }) => fingerprint).join()
}
