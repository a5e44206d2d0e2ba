import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { describeRunning } from '../../../../src/node/cni/index.ts'
import { silentLogger } from '../../../../src/observe/index.ts'
import { FakeCni, sandbox } from '../../../helpers/fake-cni.ts'
import { until } from '../../../helpers/until.ts'

const hang = { sh: 'echo $$ >"$d/hangs-$CNI_COMMAND"; sleep 600' }
const deadlineMs = 30_000

/** A list of a plugin that works and one that hangs in the given commands. */
function newCni(t: TestContext, ...commands: readonly string[]) {
  const cni = new FakeCni(t)
  cni.plugin('first')
  const sleepy = cni.plugin('sleepy')
  for (const command of commands) sleepy.answer(command, hang)
  cni.list('first', 'sleepy')
  const hangs = (command: string) =>
    until(`${command} hangs`, () => existsSync(`${sleepy.path}.d/hangs-${command}`), deadlineMs)
  const isAlive = (command: string) =>
    existsSync(`/proc/${readFileSync(`${sleepy.path}.d/hangs-${command}`, 'utf8').trim()}`)
  return { cni, hangs, isAlive }
}

test('a plugin that hangs is reported while it runs, with its list and since when', async (t) => {
  const { cni, hangs } = newCni(t, 'ADD')
  const slow: string[] = []
  const abort = new AbortController()
  const runtime = cni.runtime({ slowAfterMs: 30, onSlow: (call) => slow.push(describeRunning(call)) })
  const added = assert.rejects(runtime.add(sandbox, { signal: abort.signal }), { code: 'cancelled' })
  await hangs('ADD')
  await until('it is reported', () => slow.at(-1)?.includes('sleepy (ADD)') === true, deadlineMs)
  const file = join(cni.configDir, '10-test.conflist')
  const text = `the plugin sleepy \\(ADD\\) of the network test \\(${file}\\) has been running since \\d\\d:\\d\\d:\\d\\d UTC; it is killed after 60 s`
  assert.match(slow.at(-1) ?? '', new RegExp(`^${text}$`))
  const [call, ...others] = runtime.slowCalls()
  assert.deepEqual([call?.command, call?.containerId, others], ['ADD', 'c1', []])
  assert.match(runtime.stallReasonOf('c1')?.waitsFor ?? '', /sleepy/)
  assert.equal(runtime.stallReasonOf('c2'), undefined)
  abort.abort()
  await added
  assert.deepEqual([runtime.slowCalls(), runtime.stallReasonOf('c1')], [[], undefined])
})

test('why an ADD failed is known while it is undone by a plugin that hangs, and logged with it', async (t) => {
  const { cni, hangs } = newCni(t, 'ADD', 'DEL')
  const lines: string[] = []
  const log = { ...silentLogger, warn: (...line: unknown[]) => void lines.push(JSON.stringify(line)) }
  const runtime = cni.runtime({ slowAfterMs: 30, pluginTimeoutMs: 2000, log })
  const added = assert.rejects(runtime.add(sandbox), { code: 'plugin-timeout' })
  await hangs('DEL')
  await until('the log tells', () => lines.some((line) => /sleepy \(DEL\)/.test(line)), deadlineMs)
  const { failure, waitsFor } = runtime.stallReasonOf('c1') ?? {}
  assert.match(failure ?? '', /the plugin sleepy \(ADD\) was killed after 2000 ms/)
  assert.match(waitsFor ?? '', /sleepy \(DEL\)/)
  await added
  assert.equal(runtime.stallReasonOf('c1'), undefined)
})

test('a user who ends an ADD has its plugin killed and what was made undone', async (t) => {
  const { cni, hangs, isAlive } = newCni(t, 'ADD')
  const [work, undoing] = [new AbortController(), new AbortController()]
  const runtime = cni.runtime({ stop: { work: work.signal, undoing: undoing.signal } })
  const added = assert.rejects(runtime.add(sandbox), { code: 'cancelled', message: /sleepy \(ADD\) was killed/ })
  await hangs('ADD')
  work.abort()
  await added
  assert.deepEqual(cni.order(), ['ADD first', 'ADD sleepy', 'DEL sleepy', 'DEL first'])
  assert.deepEqual([isAlive('ADD'), cni.cacheFiles()], [false, []])
})

test('a second signal ends the undoing as well, which is reported and remembered for the next DEL', async (t) => {
  const { cni, hangs, isAlive } = newCni(t, 'ADD', 'DEL')
  const [work, undoing] = [new AbortController(), new AbortController()]
  const lines: string[] = []
  const log = { ...silentLogger, warn: (...line: unknown[]) => void lines.push(JSON.stringify(line)) }
  const runtime = cni.runtime({ stop: { work: work.signal, undoing: undoing.signal }, log })
  const added = assert.rejects(runtime.add(sandbox), { code: 'cancelled' })
  await hangs('ADD')
  work.abort()
  await hangs('DEL')
  undoing.abort()
  await added
  assert.deepEqual([isAlive('DEL'), cni.cacheFiles()], [false, ['test-c1-eth0']])
  assert.ok(
    lines.some((line) => /could not be undone.*sleepy \(DEL\) was killed/.test(line)),
    lines.join('\n'),
  )
})

test('a user who ends it while plugins say what they speak has that killed, and no file is at fault', async (t) => {
  const { cni, hangs } = newCni(t, 'VERSION')
  const work = new AbortController()
  const runtime = cni.runtime({ stop: { work: work.signal, undoing: work.signal } })
  const asked = [runtime.add(sandbox), runtime.plugins()].map((one) => assert.rejects(one, { code: 'cancelled' }))
  await hangs('VERSION')
  work.abort()
  await Promise.all(asked)
  assert.deepEqual([cni.order(), cni.cacheFiles()], [[], []])
})
