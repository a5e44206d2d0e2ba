import assert from 'node:assert/strict'
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { ApiError } from '../../../../../src/client/index.ts'
import { DnsPlane } from '../../../../../src/node/dns/plane/plane.ts'
import type { DnsSettings } from '../../../../../src/node/dns/plane/settings.ts'
import { configMapHandler } from '../../../../../src/node/dns/sources/config-map-handler.ts'
import { recordType } from '../../../../../src/node/dns/wire/codes.ts'
import { AppliedRevisions } from '../../../../../src/node/state/applied.ts'
import { LiveNodeState } from '../../../../../src/node/state/live-node-state.ts'
import { makeQuery } from '../../../../helpers/dns-messages.ts'
import { askUdp } from '../../../../helpers/dns-server.ts'
import { findFreePort } from '../../../../helpers/free-port.ts'
import { createRecordingLogger } from '../../../../helpers/recording-logger.ts'
import { watchStartedThreads } from '../../../../helpers/started-threads.ts'
import { makeTemporaryFolder } from '../../../../helpers/temporary-folder.ts'
import { until, untilAsync } from '../../../../helpers/until.ts'

/** A plane with nothing to bind, and the port that the Corefiles of the test serve on. */
async function startPlane(t: TestContext, settings: Partial<DnsSettings> = {}) {
  const port = await findFreePort()
  const { log, lines } = createRecordingLogger()
  const state = new LiveNodeState(log)
  const whole = { clusterDns: [], clusterDomain: 'cluster.local', corefile: undefined, nodeAddress: undefined }
  const plane = new DnsPlane({
    state,
    applied: new AppliedRevisions(state),
    log,
    settings: { ...whole, clusterCidrs: [], env: {}, ...settings },
  })
  t.after(() => plane.stop({ signal: AbortSignal.timeout(100) }))
  await plane.start()
  const answers = async () => (await askUdp(makeQuery('a.test', recordType.A), port, 300)) !== undefined
  const serving = (extra = '') =>
    `.:${port} {\n bind 127.0.0.1\n template IN A {\n answer "{{ .Name }} 60 IN A 192.0.2.1"\n }\n ${extra}\n}\n`
  return { plane, lines, answers, serving, port }
}

test('nothing is answered until the ConfigMap is known, or known to be absent', async (t) => {
  const { plane, answers, serving, lines } = await startPlane(t)
  await plane.reload()
  assert.equal(plane.health().level, 'unknown')
  assert.match(plane.health().message, /ConfigMap/)
  assert.ok(!lines.some((line) => line.includes('DNS is configured')), lines.join('\n'))
  assert.equal(await answers(), false)
  plane.changeConfigMap({ Corefile: serving() })
  await plane.reload()
  assert.equal(await answers(), true)
  const configured = () => lines.filter((line) => line.includes('DNS is configured')).length
  assert.equal(configured(), 1)
  plane.changeConfigMap(undefined)
  await plane.reload()
  assert.deepEqual([await answers(), configured()], [false, 2])
})

test('a ConfigMap that names a file of the node changes nothing; at a first start the message says that nothing is served', async (t) => {
  const { plane, answers, serving, lines } = await startPlane(t)
  plane.changeConfigMap({ Corefile: serving('hosts /dev/zero') })
  await plane.reload()
  assert.equal(await answers(), false)
  const refused = lines.filter((line) => line.includes('cannot be used'))
  assert.equal(refused.length, 1)
  assert.match(refused[0] ?? '', /DNS is not served until it is corrected/)
  assert.match(plane.health().message, /^ConfigMap kube-system\/coredns:6 - hosts: \/dev\/zero: /)

  plane.changeConfigMap({ Corefile: serving() })
  await plane.reload()
  assert.equal(await answers(), true)
  plane.changeConfigMap({ Corefile: serving('forward . /etc/shadow') })
  await plane.reload()
  assert.equal(await answers(), true)
  assert.equal(plane.health().level, 'degraded')
  assert.match(plane.health().message, /coredns:6 - forward: \/etc\/shadow: /)
  assert.match(lines.at(-1) ?? '', /the configuration before it stays in effect/)
})

test('an address on which DNS cannot listen is tried again until it can, and the status says so', async (t) => {
  const { plane, answers, serving, lines, port } = await startPlane(t)
  const holder = createSocket('udp4')
  holder.bind(port, '127.0.0.1')
  await once(holder, 'listening')
  plane.changeConfigMap({ Corefile: serving() })
  await plane.reload()
  assert.equal(plane.health().level, 'degraded')
  assert.match(plane.health().message, new RegExp(`127\\.0\\.0\\.1.*${port}.*; tried again after \\d+\\.\\d s$`))
  await plane.reload()
  assert.equal(lines.filter((line) => line.includes('cannot listen')).length, 1)
  holder.close()
  await once(holder, 'close')
  const isOpen = () => lines.some((line) => line.includes('DNS listens on an address on which it could not'))
  await untilAsync('it listens', () => plane.reload().then(isOpen), 30_000)
  await untilAsync('it answers', answers, 30_000)
  assert.doesNotMatch(plane.health().message, /tried again/)
})

test('threads that were started again and cannot listen are tried again until they can, and the status says so', async (t) => {
  const workers = watchStartedThreads(t)
  const { plane, answers, serving, lines, port } = await startPlane(t)
  plane.changeConfigMap({ Corefile: serving() })
  await plane.reload()
  assert.equal(await answers(), true)
  await Promise.all(workers.map((worker) => worker.terminate()))
  const holder = createSocket('udp4')
  holder.bind(port, '127.0.0.1')
  await once(holder, 'listening')
  await until('a thread has tried to listen', () => lines.some((line) => line.includes('DNS cannot listen')), 30_000)
  await plane.reload()
  assert.match(plane.health().message, new RegExp(`127\\.0\\.0\\.1.*${port}.*; tried again after`))
  holder.close()
  await once(holder, 'close')
  const isRight = async () => {
    await plane.reload()
    return !plane.health().message.includes('tried again') && (await answers())
  }
  await untilAsync('it answers, and the status says so', isRight, 30_000)
})

test('a resolver file without nameserver degrades the health, and is logged once', async (t) => {
  const resolver = join(makeTemporaryFolder(t), 'resolv.conf')
  writeFileSync(resolver, 'search example.org\n')
  const { plane, answers, serving, lines } = await startPlane(t, { dnsConfigMapFiles: [resolver] })
  plane.changeConfigMap({ Corefile: serving(`forward . ${resolver}`) })
  await plane.reload()
  await plane.reload()
  assert.equal(plane.health().level, 'degraded')
  assert.match(plane.health().message, /names no nameserver/)
  assert.equal(lines.filter((line) => line.includes('a file that the Corefile names')).length, 1)
  assert.equal(await answers(), true)
  writeFileSync(resolver, 'nameserver 127.0.0.1\n')
  await plane.reload()
  assert.doesNotMatch(plane.health().message, /nameserver/)
})

test('a node that may not read the ConfigMap uses the built-in Corefile after a while; one that has read it keeps it', () => {
  const { log, lines } = createRecordingLogger()
  const passed: unknown[] = []
  let now = 0
  const handler = configMapHandler({ changeConfigMap: (data) => void passed.push(data) }, log, () => now)
  const fail = (code: 'forbidden' | 'unavailable', atMs: number) => {
    now = atMs
    handler.onFailure?.(new ApiError(code, code))
  }
  for (const atMs of [0, 1_000]) fail('forbidden', atMs)
  fail('unavailable', 4_000)
  for (const atMs of [5_000, 9_000]) fail('forbidden', atMs)
  assert.deepEqual(passed, [])
  fail('forbidden', 10_000)
  assert.deepEqual(passed, [undefined])
  assert.match(lines.join('\n'), /may not read the ConfigMap/)
  const metadata = { name: 'coredns', namespace: 'kube-system', uid: 'u', resourceVersion: '1' }
  void handler.onReplace([{ metadata, data: { Corefile: 'text', NodeHosts: 'more' } }], '1', [])
  void handler.onReplace([], '2', [metadata])
  fail('forbidden', 90_000)
  assert.deepEqual(passed, [undefined, { Corefile: 'text', NodeHosts: 'more' }])
  handler.onEvent('DELETED', { metadata }, '2')
  assert.equal(passed.at(-1), undefined)
})

test('a Corefile that does not serve the zone of the cluster is used, and the log says what pods will miss', async (t) => {
  const { plane, serving, lines } = await startPlane(t, { clusterDomain: 'other.local' })
  const warnings = () => lines.filter((line) => line.includes('does not serve the cluster domain')).length
  plane.changeConfigMap({ Corefile: serving('kubernetes cluster.local') })
  await plane.reload()
  assert.equal(warnings(), 1)
  plane.changeConfigMap({ Corefile: serving('kubernetes cluster.local Other.Local') })
  await plane.reload()
  plane.changeConfigMap({ Corefile: serving('errors') })
  await plane.reload()
  assert.equal(warnings(), 1)
})
