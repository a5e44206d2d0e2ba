import { createHash, createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto'
import type { TlsSecret } from '../../model/ingress.ts'
import { findCertificateBlocks } from '../../model/pem.ts'
import type { HostPattern } from '../../model/routing-table.ts'
import { type FieldReader, fields, type Parsed } from '../state/index.ts'
import { parseHostPattern } from './host-pattern.ts'

/** Characters of base64. */
const maxTextLength = 256 * 1024
const maxChainLength = 10
const rsaBits = { least: 2048, most: 8192 }
const curves: readonly unknown[] = ['prime256v1', 'secp384r1', 'secp521r1']

const certificateField = 'data["tls.crt"]'
const keyField = 'data["tls.key"]'

/**
 * Reads the certificate and key of a Secret (`tls.crt`, `tls.key`: PEM in base64), whatever its type. They give a value only if they
 * belong together and clients and servers of today accept them; dates are left to whom the value is for. No problem quotes them.
 */
export function readTlsSecret(json: unknown): Parsed<TlsSecret> {
  return fields.parseObject('Secret', json, (reader, object, { key: secret }) => {
    const data = fields.isRecord(object['data']) ? object['data'] : {}
    const chain = readChain(reader, data['tls.crt'])
    const key = readKey(reader, data['tls.key'])
    if (chain === undefined || key === undefined) return undefined
    try {
      return readPair(reader, { chain, key }, secret)
    } catch {
      // The cause may quote the certificate or its key.
      reader.report(certificateField, 'a certificate that OpenSSL can use', 'another one')
      return undefined
    }
  })
}

/** Decodes PEM in base64; undefined and a problem, which does not quote it, for anything else. */
function readText(reader: FieldReader, json: unknown, field: string): string | undefined {
  const text = typeof json === 'string' && json.length <= maxTextLength ? json.replaceAll(/\s/g, '') : ''
  if (/^[A-Za-z0-9+/]+={0,2}$/.test(text)) return Buffer.from(text, 'base64').toString('latin1')
  const isMissing = json === undefined || json === null || json === ''
  reader.report(field, `PEM in base64, at most ${maxTextLength} characters`, isMissing ? undefined : 'another value')
  return undefined
}

function readChain(reader: FieldReader, json: unknown): readonly X509Certificate[] | undefined {
  const text = readText(reader, json, certificateField)
  if (text === undefined) return undefined
  const blocks = findCertificateBlocks(text)
  const chain = blocks.slice(0, maxChainLength + 1).map(parseCertificate)
  const whole = chain.filter((certificate) => certificate !== undefined)
  if (whole.length > 0 && whole.length === chain.length && whole.length <= maxChainLength) return whole
  const found =
    blocks.length > maxChainLength ? `${blocks.length} certificates` : 'text that is no chain of certificates'
  reader.report(certificateField, `certificates in PEM, at most ${maxChainLength}`, found)
  return undefined
}

function parseCertificate(pem: string): X509Certificate | undefined {
  try {
    return new X509Certificate(pem)
  } catch {
    return undefined
  }
}

function readKey(reader: FieldReader, json: unknown): KeyObject | undefined {
  const text = readText(reader, json, keyField)
  if (text === undefined) return undefined
  try {
    return createPrivateKey(text)
  } catch {
    // The cause may quote the key.
    reader.report(keyField, 'a private key in PEM without a passphrase', 'text that is no such key')
    return undefined
  }
}

interface Pair {
  readonly chain: readonly X509Certificate[]
  readonly key: KeyObject
}

function readPair(reader: FieldReader, { chain, key }: Pair, secret: TlsSecret['key']): TlsSecret | undefined {
  const keyKind = readKeyKind(reader, key)
  const leaf = chain.find((certificate) => certificate.checkPrivateKey(key))
  if (leaf === undefined) reader.report(keyField, 'the key of the certificate in tls.crt', 'another key')
  if (keyKind === undefined || leaf === undefined || !hasGoodSignature(reader, leaf)) return undefined
  const chainPem = orderChain(reader, leaf, chain).map(String).join('')
  const keyPem = key.export({ type: 'pkcs8', format: 'pem' }).toString()
  return {
    key: secret,
    fingerprint: createHash('sha256').update(chainPem).update(keyPem).digest('hex'),
    chainPem,
    keyPem,
    keyKind,
    names: readNames(leaf),
    notBeforeMs: leaf.validFromDate.getTime(),
    notAfterMs: leaf.validToDate.getTime(),
  }
}

function readKeyKind(reader: FieldReader, key: KeyObject): TlsSecret['keyKind'] | undefined {
  const { modulusLength = 0, namedCurve } = key.asymmetricKeyDetails ?? {}
  const isFit = modulusLength >= rsaBits.least && modulusLength <= rsaBits.most
  if (key.asymmetricKeyType === 'rsa' && isFit) return 'RSA'
  if (key.asymmetricKeyType === 'ec' && curves.includes(namedCurve)) return 'ECDSA'
  const expected = `RSA of ${rsaBits.least} to ${rsaBits.most} bits, or ECDSA with P-256, P-384 or P-521`
  reader.report(keyField, expected, `${key.asymmetricKeyType} ${namedCurve ?? (modulusLength || '')}`.trim())
  return undefined
}

/** Checks the hash under a certificate: OpenSSL and browsers take neither MD5 nor SHA-1, but for one that signs itself. */
function hasGoodSignature(reader: FieldReader, leaf: X509Certificate): boolean {
  const isGood = !/md\d|sha-?1\b|sha1with/i.test(leaf.signatureAlgorithm ?? '') || leaf.checkIssued(leaf)
  if (!isGood) reader.report(certificateField, 'a certificate signed with SHA-256 or better', leaf.signatureAlgorithm)
  return isGood
}

/** Puts each certificate before its issuer, as TLS wants it, and leaves out those that are not of the chain. */
function orderChain(
  reader: FieldReader,
  leaf: X509Certificate,
  chain: readonly X509Certificate[],
): readonly X509Certificate[] {
  const ordered = [leaf]
  const rest = new Set(chain)
  for (let last: X509Certificate | undefined = leaf; last !== undefined; ) {
    rest.delete(last)
    const issued: X509Certificate = last
    last = [...rest].find((certificate) => issued.checkIssued(certificate))
    if (last !== undefined) ordered.push(last)
  }
  const isInOrder = ordered.every((certificate, index) => certificate === chain[index])
  if (!isInOrder || ordered.length < chain.length)
    reader.report(certificateField, 'the certificate, then each one the issuer of the one before', 'another order')
  return ordered
}

/** Reads the DNS names; of a certificate without any, old ones have their name in the subject. */
function readNames(leaf: X509Certificate): readonly HostPattern[] {
  const alternatives = leaf.subjectAltName?.split(', ')
  const { CN } = leaf.toLegacyObject().subject
  const texts =
    alternatives?.map((each) => (each.startsWith('DNS:') ? each.slice('DNS:'.length) : '')) ?? [CN ?? []].flat()
  return [...new Set(texts.map(parseHostPattern).filter((name) => name !== undefined))].toSorted()
}
