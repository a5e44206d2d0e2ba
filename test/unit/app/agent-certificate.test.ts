import assert from 'node:assert/strict'
import { X509Certificate } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import os from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { ensureAgentTls } from '../../../src/app/composition/cluster-files.ts'

test('a link-local address, which each new pod brings to the node, is not in the certificate of an agent and has none issued', async (t) => {
  const folder = mkdtempSync(join(os.tmpdir(), 'platnet-agent-certificate-'))
  t.after(() => rmSync(folder, { recursive: true }))
  const addresses = ['192.0.2.5', 'fe80::1']
  t.mock.method(os, 'networkInterfaces', () => ({ eth0: addresses.map((address) => ({ address })) }))
  syncBuiltinESMExports()
  t.after(() => {
    t.mock.restoreAll()
    syncBuiltinESMExports()
  })
  const node = { name: 'node-1', ip: undefined }
  const { certPem } = await ensureAgentTls(folder, node)
  const certificate = new X509Certificate(certPem)
  assert.equal(certificate.checkIP('192.0.2.5'), '192.0.2.5')
  assert.equal(certificate.checkIP('fe80::1'), undefined)
  addresses.push('fe80::2')
  assert.equal((await ensureAgentTls(folder, node)).certPem, certPem)
  addresses.push('192.0.2.6')
  assert.notEqual((await ensureAgentTls(folder, node)).certPem, certPem)
})
