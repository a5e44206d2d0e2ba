import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { X509Certificate } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { it, type TestContext } from 'node:test'
import { type CertificateRequest, ensureClusterCa, issueCertificate } from '../../../src/pki/index.ts'
import { makeTemporaryFolder } from '../../helpers/temporary-folder.ts'

const server: CertificateRequest = {
  commonName: 'platnet-api',
  dnsNames: ['localhost', 'kubernetes.default.svc', '*.nodes.cluster.local'],
  ips: ['127.0.0.1', '10.96.0.1', '::1', 'fd00::1'],
  usages: ['server'],
  days: 30,
}
const client: CertificateRequest = {
  commonName: 'system:node:a, b + "c" = \\d',
  organizations: ['system:masters', 'O=x,CN=y', '#0c0161', '"quoted"'],
  usages: ['client'],
  days: 30,
}

async function makeCa(test: TestContext) {
  const folder = makeTemporaryFolder(test)
  return { folder, ca: await ensureClusterCa(folder) }
}

it('A certificate says what was asked for, and no more.', async (t) => {
  const { ca } = await makeCa(t)
  const certificate = new X509Certificate((await issueCertificate(ca, server)).certPem)
  assert.ok(!certificate.ca)
  assert.deepEqual(certificate.keyUsage, ['1.3.6.1.5.5.7.3.1'])
  for (const name of ['localhost', 'kubernetes.default.svc', 'x.nodes.cluster.local'])
    assert.ok(certificate.checkHost(name))
  assert.equal(certificate.checkHost('platnet-api'), undefined)
  for (const ip of server.ips ?? []) assert.ok(certificate.checkIP(ip), ip)
  assert.equal(certificate.checkIP('127.0.0.2'), undefined)
  const both = await issueCertificate(ca, { ...server, usages: ['server', 'client'] })
  assert.deepEqual(new X509Certificate(both.certPem).keyUsage, ['1.3.6.1.5.5.7.3.1', '1.3.6.1.5.5.7.3.2'])
})

it('Names with a meaning in X.500 stay names: no user gains a group by them.', async (t) => {
  const { ca } = await makeCa(t)
  const { subject } = new X509Certificate((await issueCertificate(ca, client)).certPem).toLegacyObject()
  assert.deepEqual({ ...subject }, { O: client.organizations, CN: client.commonName })
})

it('A certificate never outlives its CA, and holds for clocks a little behind.', async (t) => {
  const { ca } = await makeCa(t)
  const certificate = new X509Certificate((await issueCertificate(ca, { ...client, days: 99_999 })).certPem)
  assert.equal(certificate.validTo, new X509Certificate(ca.certPem).validTo)
  assert.ok(certificate.validFromDate.getTime() <= Date.now() - 4 * 60_000)
})

it('A request that makes no sense is refused with what was expected.', async (t) => {
  const { ca } = await makeCa(t)
  const cases: [Partial<CertificateRequest>, RegExp][] = [
    [{ commonName: '' }, /a name of 1 to 64 printable characters was expected, not ""/],
    [{ commonName: 'x'.repeat(65) }, /1 to 64/],
    [{ organizations: ['a\u0000b'] }, /not "a\\u0000b"/],
    [{ dnsNames: ['a b'] }, /a DNS name was expected, not "a b"/],
    [{ ips: ['1.2.3'] }, /an IP address was expected, not "1\.2\.3"/],
    [{ usages: [] }, /server, client or both/],
    [{ dnsNames: [], ips: [] }, /a server needs a DNS name or an address/],
    [{ days: 0 }, /above 0 days/],
    [{ days: Number.NaN }, /above 0 days/],
  ]
  for (const [change, message] of cases) {
    await assert.rejects(issueCertificate(ca, { ...server, ...change }), { code: 'invalid-request', message })
  }
})

const hasOpenssl = spawnSync('openssl', ['version']).status === 0

it('openssl accepts the chain for its purpose and no other.', {
  skip: hasOpenssl ? false : 'needs openssl',
}, async (t) => {
  const { folder, ca } = await makeCa(t)
  const path = join(folder, 'leaf.crt')
  const verify = (purpose: string) =>
    spawnSync('openssl', ['verify', '-x509_strict', '-purpose', purpose, '-CAfile', join(folder, 'ca.crt'), path], {
      encoding: 'utf8',
    })
  writeFileSync(path, (await issueCertificate(ca, server)).certPem)
  assert.equal(verify('sslserver').status, 0, verify('sslserver').stderr)
  assert.notEqual(verify('sslclient').status, 0)
  writeFileSync(path, (await issueCertificate(ca, client)).certPem)
  assert.equal(verify('sslclient').status, 0, verify('sslclient').stderr)
  assert.notEqual(verify('sslserver').status, 0)
})
