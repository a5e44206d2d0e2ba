import assert from 'node:assert/strict'
import { sign, X509Certificate } from 'node:crypto'
import { describe, it, type TestContext } from 'node:test'
import { ensureClusterCa, readCertificateRequest, signRequest } from '../../../src/pki/index.ts'
import { makeCertificateRequest } from '../../helpers/certificates.ts'
import { makeTemporaryFolder } from '../../helpers/temporary-folder.ts'

const usages = ['digital signature', 'key encipherment', 'client auth']
const hour = 3_600
const names = 'subjectAltName=DNS:web.example.com,IP:192.0.2.1,IP:2001:db8::1,email:a@example.com,URI:spiffe://x/y'

const caOf = (test: TestContext) => ensureClusterCa(makeTemporaryFolder(test))
const pemOf = (subject: string, options: readonly string[] = []) => makeCertificateRequest(subject, options).request
const secondsOf = ({ validFromDate, validToDate }: X509Certificate) =>
  (validToDate.getTime() - validFromDate.getTime()) / 1000

describe('a certificate request', () => {
  for (const [key, options] of [
    ['RSA', ['-newkey', 'rsa:2048']],
    ['P-256', ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256']],
    ['P-384', ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-384']],
    ['Ed25519', ['-newkey', 'ed25519']],
  ] as const)
    it(`of an ${key} key is signed with its subject and its names.`, async (t) => {
      const ca = await caOf(t)
      const pem = pemOf('/O=system:nodes/CN=system:node:a', [...options, '-addext', names])
      const certificate = new X509Certificate(await signRequest(ca, pem, { usages, seconds: hour }))
      assert.ok(certificate.verify(new X509Certificate(ca.certPem).publicKey))
      assert.equal(certificate.subject, 'O=system:nodes\nCN=system:node:a')
      assert.ok(certificate.checkHost('web.example.com') && certificate.checkIP('2001:db8::1'))
      assert.match(certificate.subjectAltName ?? '', /email:a@example.com, URI:spiffe:\/\/x\/y/)
      assert.deepEqual(certificate.keyUsage, ['1.3.6.1.5.5.7.3.2'])
      assert.ok(!certificate.ca)
    })

  it('asks for nothing but a subject and names: other extensions are dropped.', async (t) => {
    const pem = pemOf('/CN=a', ['-addext', 'basicConstraints=critical,CA:TRUE', '-addext', 'keyUsage=keyCertSign'])
    const certificate = new X509Certificate(await signRequest(await caOf(t), pem, { usages, seconds: hour }))
    assert.ok(!certificate.ca)
  })

  it('gets the life that it may have, five minutes of it in the past.', async (t) => {
    const ca = await caOf(t)
    const sign = async (seconds: number) =>
      new X509Certificate(await signRequest(ca, pemOf('/CN=a'), { usages, seconds }))
    assert.equal(secondsOf(await sign(hour)), hour + 300)
    assert.equal(secondsOf(await sign(24 * hour)), 24 * hour)
    assert.equal((await sign(1e9)).validToDate.getTime(), new X509Certificate(ca.certPem).validToDate.getTime())
  })

  it('shows all common names, so that a signer can refuse several.', async () => {
    const { commonNames, organizations } = await readCertificateRequest(pemOf('/CN=a/O=x+O=y/CN=b'))
    assert.deepEqual(
      [commonNames, organizations],
      [
        ['a', 'b'],
        ['x', 'y'],
      ],
    )
  })

  it('is signed only where the server reads the same names in it.', async (t) => {
    const ca = await caOf(t)
    const latin = makeCertificateRequest('/CN=n\u00e4he', ['-utf8'], 'string_mask = MASK:0x4').request
    const signed = new X509Certificate(await signRequest(ca, latin, { usages, seconds: hour }))
    assert.equal(signed.toLegacyObject().subject.CN, 'n\u00e4he')
    // OpenSSL does not take a VisibleString for a common name.
    const visible = withTag(makeCertificateRequest('/CN=system:node:a', ['-newkey', 'ed25519']), 0x1a)
    await assert.rejects(signRequest(ca, visible, { usages, seconds: hour }), { code: 'invalid-request' })
  })

  const good = pemOf('/CN=a')
  const bad: readonly (readonly [string, string, RegExp])[] = [
    ['nothing', '', /PEM block type/],
    ['a block of another type', good.replaceAll('CERTIFICATE REQUEST', 'CERTIFICATE'), /PEM block type/],
    ['a block that ends elsewhere', good.replace('-----END CERTIFICATE REQUEST', '-----END X'), /PEM block type/],
    ['no DER', '-----BEGIN CERTIFICATE REQUEST-----\nAAAA\n-----END CERTIFICATE REQUEST-----\n', /certificate request/],
    ['a text cut off', good.replace(/(?<=REQUEST-----\n).*\n/, ''), /certificate request/],
    ['a signature of another', swapSignature(good), /certificate request/],
  ]
  for (const [what, pem, message] of bad)
    it(`is none: ${what}.`, async () => {
      await assert.rejects(readCertificateRequest(pem), { code: 'invalid-request', message })
    })
})

function bytesOf(pem: string): Buffer {
  return Buffer.from(pem.replaceAll(/-----[^-]+-----|\s/g, ''), 'base64')
}

function toPem(bytes: Buffer): string {
  return `-----BEGIN CERTIFICATE REQUEST-----\n${bytes.toString('base64')}\n-----END CERTIFICATE REQUEST-----\n`
}

/** Changes the last byte but three, which is part of the signature. */
function swapSignature(pem: string): string {
  const bytes = bytesOf(pem)
  const at = bytes.length - 4
  bytes.writeUInt8(bytes.readUInt8(at) ^ 1, at)
  return toPem(bytes)
}

/** Gives the common name another ASN.1 type and signs again: an Ed25519 signature is the last 64 bytes. */
function withTag({ request, key }: { readonly request: string; readonly key: string }, tag: number): string {
  const bytes = bytesOf(request)
  const commonName = Buffer.from('0603550403', 'hex')
  bytes.writeUInt8(tag, bytes.indexOf(commonName) + commonName.length)
  const start = 2 + (bytes.readUInt8(1) & 0x80 ? bytes.readUInt8(1) & 0x7f : 0)
  const longLength = bytes.readUInt8(start + 1) & 0x80 ? bytes.readUInt8(start + 1) & 0x7f : 0
  const length = longLength === 0 ? bytes.readUInt8(start + 1) : bytes.readUIntBE(start + 2, longLength)
  const signed = bytes.subarray(start, start + 2 + longLength + length)
  sign(null, signed, key).copy(bytes, bytes.length - 64)
  return toPem(bytes)
}
