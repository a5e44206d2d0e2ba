import assert from 'node:assert/strict'
import { chmodSync, readdirSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { it } from 'node:test'
import { type CertificateRequest, ensureCertificate, ensureClusterCa } from '../../../src/pki/index.ts'
import { makeTemporaryFolder } from '../../helpers/temporary-folder.ts'

const dayMs = 86_400_000
const request: CertificateRequest = {
  commonName: 'api',
  organizations: ['g1', 'g2'],
  dnsNames: ['localhost', '*.example.org'],
  ips: ['127.0.0.1', '::1'],
  usages: ['server', 'client'],
  days: 30,
}

it('A certificate on disk is used again as long as it will do, and replaced when it will not.', async (t) => {
  const folder = makeTemporaryFolder(t)
  const ca = await ensureClusterCa(folder)
  const now = new Date()
  const ensure = (change: Partial<CertificateRequest> = {}, at = now) =>
    ensureCertificate(ca, folder, 'api', { ...request, ...change }, at)
  const first = await ensure()
  assert.equal(first.isNew, true)
  assert.deepEqual(readdirSync(folder).toSorted(), ['api.crt', 'api.key', 'ca.crt', 'ca.key'])
  assert.equal(statSync(join(folder, 'api.key')).mode & 0o777, 0o600)

  const reused: Partial<CertificateRequest>[] = [
    {},
    { dnsNames: ['localhost'] },
    { ips: [] },
    { usages: ['client'] },
    { days: 1 },
  ]
  for (const change of reused)
    assert.deepEqual(await ensure(change), { ...first, isNew: false }, JSON.stringify(change))
  assert.equal((await ensure({}, new Date(now.getTime() + 19.9 * dayMs))).isNew, false)

  const replaced: Partial<CertificateRequest>[] = [
    { dnsNames: ['localhost', 'other'] },
    { ips: ['127.0.0.1', '10.96.0.1'] },
    { commonName: 'other' },
    { organizations: ['g1'] },
    { organizations: [] },
  ]
  for (const change of replaced) {
    assert.equal((await ensure(change)).isNew, true, JSON.stringify(change))
    assert.equal((await ensure(change)).isNew, false, JSON.stringify(change))
    await ensure()
  }
  const third = await ensure({}, new Date(now.getTime() + 20.1 * dayMs))
  assert.equal(third.isNew, true, 'a third of its life is left')
  assert.equal((await ensure({}, new Date(now.getTime() - dayMs))).isNew, true, 'it is not valid yet')
})

it('A certificate for one usage does not do for the other.', async (t) => {
  const folder = makeTemporaryFolder(t)
  const ca = await ensureClusterCa(folder)
  await ensureCertificate(ca, folder, 'a', { ...request, usages: ['server'] })
  assert.equal((await ensureCertificate(ca, folder, 'a', { ...request, usages: ['client'] })).isNew, true)
})

it("Another CA's certificate, a damaged file and a pair that does not match are replaced.", async (t) => {
  const folder = makeTemporaryFolder(t)
  const ca = await ensureClusterCa(folder)
  const other = await ensureClusterCa(join(folder, 'other'))
  const ensure = async () => (await ensureCertificate(ca, folder, 'api', request)).isNew
  await ensureCertificate(other, folder, 'api', request)
  assert.equal(await ensure(), true)
  for (const [file, text] of [
    ['api.crt', 'nonsense'],
    ['api.key', ''],
    ['api.key', other.keyPem],
  ] as const) {
    assert.equal(await ensure(), false)
    writeFileSync(join(folder, file), text)
    assert.equal(await ensure(), true, `${file} ${text.slice(0, 8)}`)
  }
})

it('A file that became readable for all is for its owner only once it is written again.', async (t) => {
  const folder = makeTemporaryFolder(t)
  const ca = await ensureClusterCa(folder)
  await ensureCertificate(ca, folder, 'api', request)
  chmodSync(join(folder, 'api.key'), 0o644)
  await ensureCertificate(ca, folder, 'api', { ...request, commonName: 'other' })
  assert.equal(statSync(join(folder, 'api.key')).mode & 0o777, 0o600)
})
