import assert from 'node:assert/strict'
import { createPrivateKey, X509Certificate } from 'node:crypto'
import { describe, test } from 'node:test'
import { readTlsSecret } from '../../../../src/node/ingress/read-tls-secret.ts'
import { formatProblem } from '../../../../src/node/state/index.ts'
import { makeTlsCertificate, tlsSecret } from '../../../helpers/tls-certificates.ts'

const names = ['Shop.example.com', '*.shop.example.com']
const root = await makeTlsCertificate({ commonName: 'root' })
const middle = await makeTlsCertificate({ commonName: 'middle', issuer: root })
const leaf = await makeTlsCertificate({ names, issuer: middle })
const alone = await makeTlsCertificate({ names })
const rsa = await makeTlsCertificate({ names, key: 'RSA-2048' })

function read(json: unknown) {
  const { value, problems } = readTlsSecret(json)
  const lines = problems.map(formatProblem)
  assert.doesNotMatch(lines.join(), /MII|-----/, 'no problem quotes a key or certificate')
  return { value, problem: lines.join('\n') }
}

/** The subjects of a chain, the server's certificate first. */
function subjects(chainPem: string): readonly string[] {
  return chainPem
    .split(/(?<=-----END CERTIFICATE-----\n)/)
    .map((pem) => new X509Certificate(pem).subject.replace('CN=', ''))
}

describe('A Secret with a certificate', () => {
  test('gives its chain, key, names and dates', () => {
    const { value, problem } = read(tlsSecret(leaf.certPem + middle.certPem, leaf.keyPem))
    assert.equal(problem, '')
    assert.ok(value !== undefined)
    const { chainPem, keyPem, fingerprint, notBeforeMs, notAfterMs, ...rest } = value
    assert.deepEqual(rest, {
      key: 'shop/shop-tls',
      keyKind: 'ECDSA',
      names: ['*.shop.example.com', 'shop.example.com'],
    })
    assert.deepEqual(subjects(chainPem), ['test', 'middle'])
    assert.ok(new X509Certificate(chainPem).checkPrivateKey(createPrivateKey(keyPem)))
    assert.match(fingerprint, /^[0-9a-f]{64}$/)
    const { validFromDate, validToDate } = new X509Certificate(leaf.certPem)
    assert.deepEqual([notBeforeMs, notAfterMs], [validFromDate.getTime(), validToDate.getTime()])
  })

  test('may have an RSA key, in the form of PKCS #1 or #8', () => {
    const pkcs1 = createPrivateKey(rsa.keyPem).export({ type: 'pkcs1', format: 'pem' }).toString()
    const [first, second] = [rsa.keyPem, pkcs1].map((pem) => read(tlsSecret(rsa.certPem, pem)).value)
    assert.equal(first?.keyKind, 'RSA')
    assert.deepEqual(first, second)
  })

  test('may have text around its PEM blocks, none of which is passed on', () => {
    const { value } = read(tlsSecret(`Subject: x\n${alone.certPem}\n# end`, `\n${alone.keyPem}\n`))
    assert.deepEqual(value, read(tlsSecret(alone.certPem, alone.keyPem)).value)
  })

  test('in another order is served in the order of TLS, and is a problem', () => {
    const { value, problem } = read(tlsSecret(root.certPem + middle.certPem + leaf.certPem, leaf.keyPem))
    assert.deepEqual(subjects(value?.chainPem ?? ''), ['test', 'middle', 'root'])
    assert.match(
      problem,
      /^Secret shop\/shop-tls: data\["tls.crt"\]: expected the certificate, then each one the issuer/,
    )
  })

  test('leaves out certificates that are not of its chain, and is a problem', () => {
    const { value, problem } = read(tlsSecret(leaf.certPem + rsa.certPem, leaf.keyPem))
    assert.deepEqual(subjects(value?.chainPem ?? ''), ['test'])
    assert.match(problem, /expected the certificate, then each one the issuer/)
  })

  test('without alternative names has the name of its subject', async () => {
    const old = await makeTlsCertificate({ commonName: 'old.example.com' })
    assert.deepEqual(read(tlsSecret(old.certPem, old.keyPem)).value?.names, ['old.example.com'])
  })

  test('that signs itself may do so with SHA-1, which no client looks at', async () => {
    const own = await makeTlsCertificate({ names, key: 'RSA-2048', hash: 'SHA-1' })
    const { value, problem } = read(tlsSecret(own.certPem, own.keyPem))
    assert.deepEqual([value?.keyKind, problem], ['RSA', ''])
  })

  test('of the past is read: the plan compares dates with the clock', async () => {
    const past = await makeTlsCertificate({ names, notBeforeMs: 1e12, notAfterMs: 1.1e12 })
    const { value } = read(tlsSecret(past.certPem, past.keyPem))
    assert.deepEqual([value?.notBeforeMs, value?.notAfterMs], [1e12, 1.1e12])
  })
})

describe('A Secret is refused with its field where', () => {
  const encrypted = createPrivateKey(alone.keyPem)
    .export({ type: 'pkcs8', format: 'pem', cipher: 'aes-256-cbc', passphrase: 'x' })
    .toString()
  const good = tlsSecret(alone.certPem, alone.keyPem)
  const withData = (data: unknown) => ({ ...good, data })
  const cases: readonly (readonly [string, unknown, RegExp])[] = [
    ['it has no data', { metadata: good.metadata }, /tls.crt.*found nothing\n.*tls.key.*found nothing/],
    ['its data is no object', withData([]), /tls.crt.*found nothing/],
    ['its key is missing', tlsSecret(alone.certPem, ''), /tls.key"\]: expected PEM in base64.*, found nothing/],
    ['PEM stands without base64', withData({ 'tls.crt': alone.certPem, 'tls.key': alone.keyPem }), /"another value"/],
    ['a part is a number', withData({ ...good.data, 'tls.key': 7 }), /tls.key.*"another value"/],
    ['a part is very long', withData({ ...good.data, 'tls.key': 'A'.repeat(1 << 20) }), /tls.key.*"another value"/],
    ['the certificate is no PEM', tlsSecret('hello', alone.keyPem), /tls.crt.*"text that is no chain of certificates"/],
    [
      'one certificate of the chain is broken',
      tlsSecret(leaf.certPem + leaf.certPem.replace('MII', 'AAA'), leaf.keyPem),
      /"text that is no chain of certificates"/,
    ],
    ['there are many certificates', tlsSecret(leaf.certPem.repeat(11), leaf.keyPem), /"11 certificates"/],
    ['the key is no PEM', tlsSecret(alone.certPem, 'hello'), /tls.key.*"text that is no such key"/],
    ['the key needs a passphrase', tlsSecret(alone.certPem, encrypted), /without a passphrase/],
    ['the key is of another certificate', tlsSecret(alone.certPem, leaf.keyPem), /expected the key of the certificate/],
  ]
  for (const [title, json, expected] of cases) {
    test(title, () => {
      const { value, problem } = read(json)
      assert.equal(value, undefined)
      assert.match(problem, expected)
    })
  }

  test('its key is small, of another kind, or its certificate is signed with SHA-1', async () => {
    for (const [sketch, expected] of [
      [{ key: 'RSA-1024' }, /expected RSA of 2048 to 8192 bits, or ECDSA.*found "rsa 1024"/],
      [{ key: 'Ed25519' }, /expected RSA of 2048 to 8192 bits, or ECDSA.*found "ed25519"/],
      [{ issuer: rsa, hash: 'SHA-1' }, /expected a certificate signed with SHA-256 or better, found "sha1With/],
    ] as const) {
      const { certPem, keyPem } = await makeTlsCertificate({ names, ...sketch })
      const { value, problem } = read(tlsSecret(certPem, keyPem))
      assert.equal(value, undefined)
      assert.match(problem, expected)
    }
  })
})
