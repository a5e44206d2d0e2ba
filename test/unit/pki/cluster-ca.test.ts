import assert from 'node:assert/strict'
import { X509Certificate } from 'node:crypto'
import { readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { it, type TestContext } from 'node:test'
import { ensureClusterCa, issueCertificate } from '../../../src/pki/index.ts'
import { makeTemporaryFolder } from '../../helpers/temporary-folder.ts'

async function makeCa(test: TestContext) {
  const folder = join(makeTemporaryFolder(test), 'pki')
  const ca = await ensureClusterCa(folder)
  return { folder, ca, certPath: join(folder, 'ca.crt'), keyPath: join(folder, 'ca.key') }
}

it('The first start makes a CA for ten years, for its owner only; later starts find the same.', async (t) => {
  const { folder, ca, certPath, keyPath } = await makeCa(t)
  const certificate = new X509Certificate(ca.certPem)
  assert.ok(certificate.ca)
  assert.ok(certificate.verify(certificate.publicKey))
  assert.equal(certificate.publicKey.asymmetricKeyDetails?.namedCurve, 'prime256v1')
  const years = (certificate.validToDate.getTime() - Date.now()) / (365 * 86_400_000)
  assert.ok(years > 9.99 && years < 10.01, `${years} years`)
  assert.ok(certificate.validFromDate < new Date())
  for (const path of [certPath, keyPath]) assert.equal(statSync(path).mode & 0o777, 0o600, path)
  assert.equal(statSync(folder).mode & 0o777, 0o700)
  assert.deepEqual(readdirSync(folder).toSorted(), ['ca.crt', 'ca.key'])
  assert.deepEqual(await ensureClusterCa(folder), ca)
})

it('Several starts at the same moment agree on one CA.', async (t) => {
  const folder = makeTemporaryFolder(t)
  const cas = await Promise.all(Array.from({ length: 5 }, () => ensureClusterCa(folder)))
  for (const ca of cas) assert.deepEqual(ca, cas[0])
  assert.deepEqual(readdirSync(folder).toSorted(), ['ca.crt', 'ca.key'])
})

it('A key without a certificate, as an interrupted start leaves it, gets one that knows what it signed before.', async (t) => {
  const { folder, ca, certPath } = await makeCa(t)
  const issued = await issueCertificate(ca, { commonName: 'a', usages: ['client'], days: 1 })
  rmSync(certPath)
  const again = await ensureClusterCa(folder)
  assert.equal(again.keyPem, ca.keyPem)
  assert.notEqual(again.certPem, ca.certPem)
  assert.ok(new X509Certificate(issued.certPem).checkIssued(new X509Certificate(again.certPem)))
})

it('A certificate without its key is refused, and no key is made.', async (t) => {
  const { folder, keyPath } = await makeCa(t)
  rmSync(keyPath)
  await assert.rejects(ensureClusterCa(folder), {
    code: 'ca-key-missing',
    message: /ca\.crt is there without .*ca\.key$/,
  })
  assert.deepEqual(readdirSync(folder), ['ca.crt'])
})

it('Damaged or mixed-up files are refused by name and left as they are.', async (t) => {
  const { folder, certPath, keyPath, ca } = await makeCa(t)
  const other = await makeCa(t)
  const leaf = await issueCertificate(ca, { commonName: 'a', usages: ['client'], days: 1 })
  const rsa = '-----BEGIN PRIVATE KEY-----\nbm90IGEga2V5\n-----END PRIVATE KEY-----\n'
  const cases: [path: string, text: string, expected: { code: string; message: RegExp }][] = [
    [keyPath, 'nonsense', { code: 'ca-invalid', message: /ca\.key is not readable PEM/ }],
    [keyPath, rsa, { code: 'ca-invalid', message: /ca\.key is not readable PEM/ }],
    [certPath, '', { code: 'ca-invalid', message: /ca\.crt is not readable PEM/ }],
    [keyPath, other.ca.keyPem, { code: 'ca-mismatch', message: /ca\.crt and .*ca\.key do not belong together/ }],
    [certPath, leaf.certPem, { code: 'ca-invalid', message: /ca\.crt is not the certificate of a CA/ }],
  ]
  for (const [path, text, expected] of cases) {
    const before = readFileSync(path)
    writeFileSync(path, text)
    await assert.rejects(ensureClusterCa(folder), expected)
    assert.equal(readFileSync(path, 'utf8'), text)
    writeFileSync(path, before)
  }
  assert.deepEqual(await ensureClusterCa(folder), ca)
})

it('An expired CA is refused with the date.', async (t) => {
  const { folder } = await makeCa(t)
  const later = new Date(Date.now() + 11 * 365 * 86_400_000)
  await assert.rejects(ensureClusterCa(folder, later), { code: 'ca-expired', message: /ca\.crt expired at 20/ })
})

it('A file in the place of the folder gives an error that names the path.', async (t) => {
  const folder = join(makeTemporaryFolder(t), 'file')
  writeFileSync(folder, '')
  await assert.rejects(ensureClusterCa(folder), {
    code: 'unreadable',
    message: /file\/ca\.crt could not be read: ENOTDIR/,
  })
})
