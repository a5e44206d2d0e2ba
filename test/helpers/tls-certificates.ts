import { createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject } from 'node:crypto'
import { loadX509 } from '../../src/pki/x509-library.ts'

type KeyKind = 'RSA-2048' | 'RSA-1024' | 'P-256' | 'Ed25519'

interface CertificateSketch {
  readonly names?: readonly string[]
  readonly commonName?: string
  readonly key?: KeyKind
  readonly hash?: 'SHA-1' | 'SHA-256'
  /** Milliseconds since 1970; an hour ago. */
  readonly notBeforeMs?: number
  /** Milliseconds since 1970; in a day. */
  readonly notAfterMs?: number
  /** Absent: it signs itself. */
  readonly issuer?: TestCertificate
}

export interface TestCertificate {
  readonly certPem: string
  readonly keyPem: string
  readonly commonName: string
}

const hourMs = 3_600_000

const algorithms = {
  rsa: { name: 'RSASSA-PKCS1-v1_5' },
  ec: { name: 'ECDSA', namedCurve: 'P-256' },
  ed25519: { name: 'Ed25519' },
} as const

function generateKey(kind: KeyKind): KeyObject {
  if (kind === 'Ed25519') return generateKeyPairSync('ed25519').privateKey
  if (kind === 'P-256') return generateKeyPairSync('ec', { namedCurve: kind }).privateKey
  return generateKeyPairSync('rsa', { modulusLength: Number(kind.slice('RSA-'.length)) }).privateKey
}

function algorithmOf({ asymmetricKeyType }: KeyObject, hash: string) {
  if (asymmetricKeyType !== 'rsa' && asymmetricKeyType !== 'ec') return algorithms.ed25519
  return { ...algorithms[asymmetricKeyType], hash }
}

/** Makes a certificate for servers, in this process. */
export async function makeTlsCertificate(sketch: CertificateSketch = {}): Promise<TestCertificate> {
  const { names = [], key = 'P-256', hash = 'SHA-256', commonName = 'test', issuer } = sketch
  const x509 = await loadX509()
  const own = generateKey(key)
  const signer = issuer === undefined ? own : createPrivateKey(issuer.keyPem)
  const alternatives = names.map((value) => ({ type: 'dns' as const, value }))
  const certificate = await x509.X509CertificateGenerator.create({
    subject: `CN=${commonName}`,
    issuer: `CN=${issuer?.commonName ?? commonName}`,
    notBefore: new Date(sketch.notBeforeMs ?? Date.now() - hourMs),
    notAfter: new Date(sketch.notAfterMs ?? Date.now() + 24 * hourMs),
    publicKey: createPublicKey(own).toCryptoKey(algorithmOf(own, hash), true, ['verify']),
    signingKey: signer.toCryptoKey(algorithmOf(signer, hash), false, ['sign']),
    signingAlgorithm: algorithmOf(signer, hash),
    extensions: alternatives.length === 0 ? [] : [new x509.SubjectAlternativeNameExtension(alternatives)],
  })
  const keyPem = own.export({ type: 'pkcs8', format: 'pem' }).toString()
  return { certPem: `${certificate.toString('pem')}\n`, keyPem, commonName }
}

/** A Secret of type TLS on the wire. */
export function tlsSecret(certPem: string, keyPem: string, name = 'shop-tls', namespace = 'shop') {
  const base64 = (text: string) => Buffer.from(text).toString('base64')
  return { metadata: { namespace, name }, data: { 'tls.crt': base64(certPem), 'tls.key': base64(keyPem) } }
}
