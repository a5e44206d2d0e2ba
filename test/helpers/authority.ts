import 'reflect-metadata'
import { webcrypto } from 'node:crypto'
import { BasicConstraintsExtension, SubjectAlternativeNameExtension, X509CertificateGenerator } from '@peculiar/x509'

const algorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' } as const
const lifetimeMs = 24 * 3600 * 1000

export interface Authority {
  readonly certPem: string
  issue(subject: string): Promise<{ certPem: string; keyPem: string }>
}

/** A throw-away certificate authority. */
export async function createAuthority(name = 'test'): Promise<Authority> {
  const keys = await webcrypto.subtle.generateKey(algorithm, true, ['sign', 'verify'])
  const certificate = await X509CertificateGenerator.createSelfSigned({
    name: `CN=${name}`,
    keys,
    signingAlgorithm: algorithm,
    ...validity(),
    extensions: [new BasicConstraintsExtension(true, undefined, true)],
  })
  return {
    certPem: certificate.toString('pem'),
    issue: async (subject) => {
      const own = await webcrypto.subtle.generateKey(algorithm, true, ['sign', 'verify'])
      const issued = await X509CertificateGenerator.create({
        subject,
        issuer: certificate.subject,
        publicKey: own.publicKey,
        signingKey: keys.privateKey,
        signingAlgorithm: algorithm,
        ...validity(),
        extensions: [
          new SubjectAlternativeNameExtension([
            { type: 'dns', value: 'localhost' },
            { type: 'ip', value: '127.0.0.1' },
          ]),
        ],
      })
      const pkcs8 = Buffer.from(await webcrypto.subtle.exportKey('pkcs8', own.privateKey)).toString('base64')
      const keyPem = `-----BEGIN PRIVATE KEY-----\n${pkcs8}\n-----END PRIVATE KEY-----\n`
      return { certPem: issued.toString('pem'), keyPem }
    },
  }
}

function validity(): { notBefore: Date; notAfter: Date } {
  const now = Date.now()
  return { notBefore: new Date(now - lifetimeMs), notAfter: new Date(now + lifetimeMs) }
}
