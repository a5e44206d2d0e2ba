import assert from 'node:assert/strict'
import { mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { NetworkWatch } from '../../../../src/node/cni/index.ts'
import type { NetworkReadiness } from '../../../../src/node/cni/network-watch.ts'
import { FakeCni } from '../../../helpers/fake-cni.ts'
import { createRecordingLogger } from '../../../helpers/recording-logger.ts'
import { until } from '../../../helpers/until.ts'

async function startWatch(t: TestContext, cni: FakeCni, isWanted = true, slowAfterMs = 30_000) {
  const seen: NetworkReadiness[] = []
  const gauges = { ready: -1, skipped: -1 }
  const { log, lines } = createRecordingLogger()
  const watch = new NetworkWatch({
    configDir: cni.configDir,
    runtime: cni.runtime({ slowAfterMs }),
    isWanted: () => isWanted,
    onChange: (readiness) => seen.push(readiness),
    metrics: { setReady: (is) => (gauges.ready = is ? 1 : 0), setSkipped: (count) => (gauges.skipped = count) },
    log,
  })
  await watch.start()
  t.after(() => watch.stop({ signal: AbortSignal.timeout(5000) }))
  const sees = (what: string, isReady: boolean, pattern: RegExp) =>
    until(what, () => seen.at(-1)?.isReady === isReady && pattern.test(seen.at(-1)?.message ?? ''), 30_000)
  return { watch, seen, gauges, lines, sees }
}

const list = (name: string) => JSON.stringify({ cniVersion: '1.0.0', name, plugins: [{ type: 'only' }] })

test('a list that is added or removed and a folder that is replaced are each reported', async (t) => {
  const cni = new FakeCni(t)
  cni.plugin('only')
  const { watch, gauges, sees } = await startWatch(t, cni)
  await sees('no network', false, /no usable network/)
  assert.deepEqual([watch.health().level, gauges.ready], ['degraded', 0])

  writeFileSync(join(cni.configDir, '20-b.conflist'), list('second'))
  await sees('the list', true, /the network second, from .*20-b/)
  assert.deepEqual([watch.health().level, gauges.ready], ['ok', 1])
  writeFileSync(join(cni.configDir, '10-a.conflist'), list('first'))
  await sees('the list that comes before it', true, /the network first/)
  rmSync(join(cni.configDir, '10-a.conflist'))
  await sees('the other one again', true, /the network second/)

  rmSync(cni.configDir, { recursive: true })
  await sees('the folder is gone', false, /no usable network/)
  const other = join(cni.folder, 'other')
  mkdirSync(other)
  writeFileSync(join(other, '10-new.conflist'), list('new'))
  renameSync(other, cni.configDir)
  await sees('another folder in its place', true, /the network new/)
  writeFileSync(join(cni.configDir, '05-newest.conflist'), list('newest'))
  await sees('a change in the new folder', true, /the network newest/)
})

test('a plugin that cannot serve is reported, and its recovery; a skipped file is named once', async (t) => {
  const cni = new FakeCni(t)
  const plugin = cni.plugin('only', ['1.0.0', '1.1.0'])
  writeFileSync(join(cni.configDir, '05-broken.conflist'), '{')
  writeFileSync(
    join(cni.configDir, '10-a.conflist'),
    JSON.stringify({ cniVersion: '1.1.0', name: 'first', plugins: [{ type: 'only' }] }),
  )
  plugin.answer('STATUS', { out: { code: 50, msg: 'not yet' }, exit: 1 })
  const { gauges, lines, sees } = await startWatch(t, cni)
  await sees('it cannot serve', false, /not yet/)
  rmSync(`${plugin.path}.d/STATUS.exit`)
  rmSync(`${plugin.path}.d/STATUS.out`)
  writeFileSync(join(cni.configDir, 'touch'), '')
  await sees('it can', true, /the network first/)
  assert.equal(gauges.skipped, 1)
  assert.equal(lines.filter((line) => line === 'warn a network file is skipped').length, 1)
})

test('where pods get no network by CNI nothing is watched or reported', async (t) => {
  const { watch, seen } = await startWatch(t, new FakeCni(t), false)
  assert.equal(watch.health().level, 'ok')
  assert.deepEqual(seen, [])
})

test('a plugin that hangs is named while it does', async (t) => {
  const cni = new FakeCni(t)
  const plugin = cni.plugin('only', ['1.1.0'])
  plugin.answer('STATUS', { sh: 'while [ ! -e "$d/go" ]; do sleep 0.02; done' })
  cni.network('10-a.conflist', { cniVersion: '1.1.0', name: 'first', plugins: [{ type: 'only' }] })
  const { watch, sees } = await startWatch(t, cni, true, 50)
  const waits =
    /^the plugin only \(STATUS\) of the network first \(.*10-a.conflist\) has been running since \d\d:\d\d:\d\d UTC/
  await until('it is named', () => waits.test(watch.health().message), 30_000)
  assert.equal(watch.health().level, 'degraded')
  writeFileSync(`${plugin.path}.d/go`, '')
  await sees('the network', true, /the network first/)
  await until('it is well again', () => watch.health().level === 'ok', 30_000)
})
