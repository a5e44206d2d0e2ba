import assert from 'node:assert/strict'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { type AddressInfo, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { isOwnProcess } from '../../../src/host/port-owner.ts'
import { probePorts, probePrivilege, probePrograms } from '../../../src/host/probes.ts'

const folder = await mkdtemp(join(tmpdir(), 'plt-probes-'))
after(() => rm(folder, { recursive: true }))

test('a port in use is named with the option that moves it, a free one is fine', async () => {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const listener = { protocol: 'tcp', address: '127.0.0.1', port, option: '--port' } as const
  const [taken] = await probePorts([listener])
  assert.equal(taken?.level, 'fail')
  assert.equal(taken?.what, `tcp port ${port} on 127.0.0.1 is in use by node (pid ${process.pid})`)
  assert.equal(taken?.remedy, 'choose another with --port, or stop it')
  await new Promise((resolve) => server.close(resolve))
  const free = await probePorts([listener, { ...listener, protocol: 'udp' }])
  assert.deepEqual(
    free.map((finding) => finding.level),
    ['ok', 'ok'],
  )
})

test('a port that another process of this program or its haproxy holds is no fault', () => {
  const isOwn = (...command: string[]) => isOwnProcess({ pid: 1, command }, '/usr/lib/platnet/src/main.ts')
  assert.ok(isOwn('node', '--expose-gc', '/opt/platnet/src/main.ts', 'agent', '--port=1'))
  assert.ok(isOwn('haproxy', '-W', '-f', '/run/platnet/haproxy/haproxy.cfg'))
  assert.ok(!isOwn('node', '/opt/platnet/src/main.ts', 'check'))
  assert.ok(!isOwn('node', '/opt/other/server.ts', 'agent'))
  assert.ok(!isOwn('haproxy', '-f', '/etc/haproxy/haproxy.cfg'))
})

test('a socket on all addresses is in the way of an address that the agent is going to add', async () => {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '0.0.0.0', resolve))
  const { port } = server.address() as AddressInfo
  const listener = { protocol: 'tcp', address: '192.0.2.1', port, option: '--cluster-dns', isOwnAddress: true } as const
  const [taken] = await probePorts([listener])
  assert.equal(taken?.what, `tcp port ${port} on 192.0.2.1 is in use by node (pid ${process.pid})`)
  await new Promise((resolve) => server.close(resolve))
  assert.equal((await probePorts([listener]))[0]?.level, 'ok')
})

test('an address that is not of this machine is distinguished from a port in use', async () => {
  const [finding] = await probePorts([{ protocol: 'udp', address: '192.0.2.1', port: 0, option: '--bind-address' }])
  assert.match(finding?.what ?? '', /cannot be opened: .*EADDRNOTAVAIL/)
})

test('a missing program names the package, and is only a warning where it is optional', async () => {
  const missing = { file: 'plt-no-such-program', package: 'some-package', usedFor: 'Services' }
  const findings = await probePrograms([missing, { ...missing, isOptional: true }, { ...missing, file: 'true' }])
  assert.deepEqual(
    findings.map((finding) => finding.level),
    ['fail', 'warn', 'ok'],
  )
  assert.equal(findings[0]?.remedy, 'apt-get install some-package')
})

test('the privilege is read from the effective capabilities', async () => {
  const status = join(folder, 'status')
  await writeFile(status, 'Name:\tnode\nCapEff:\t0000000000001000\n')
  assert.equal((await probePrivilege(status))[0]?.level, 'ok')
  await writeFile(status, 'Name:\tnode\nCapEff:\tffffffffffffefff\n')
  const [finding] = await probePrivilege(status)
  assert.equal(finding?.level, 'fail')
  assert.match(finding?.remedy ?? '', /CAP_NET_ADMIN/)
})
