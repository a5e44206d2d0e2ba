import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { type TestContext, test } from 'node:test'
import { FakeCni } from '../../helpers/fake-cni.ts'
import { until } from '../../helpers/until.ts'

const main = resolve(import.meta.dirname, '../../../src/main.ts')
const hang = { sh: 'touch "$d/hangs-$CNI_COMMAND"; sleep 600' }
const deadlineMs = 30_000

/** `platnet cni …` with a list of one plugin, which hangs in these commands. */
function start(t: TestContext, args: readonly string[], ...commands: readonly string[]) {
  const cni = new FakeCni(t)
  const plugin = cni.plugin('sleepy')
  for (const command of commands) plugin.answer(command, hang)
  cni.list('sleepy')
  const folders = ['--cni-conf-dir', cni.configDir, '--cni-bin-dir', cni.binDir, '--cni-cache-dir', cni.cacheDir]
  const child = spawn(process.execPath, [main, 'cni', ...args, ...folders], {
    env: { PATH: process.env['PATH'], NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'] },
  })
  t.after(() => child.kill('SIGKILL'))
  const seen = { out: '', err: '' }
  child.stdout.on('data', (chunk: Buffer) => {
    seen.out += chunk
  })
  child.stderr.on('data', (chunk: Buffer) => {
    seen.err += chunk
  })
  const ended = new Promise<number | null>((done) => child.once('close', done))
  const hangs = (command: string) =>
    until(`${command} hangs`, () => existsSync(`${plugin.path}.d/hangs-${command}`), deadlineMs)
  return { cni, child, seen, ended, hangs }
}

test('platnet cni add says what it waits for; Ctrl-C ends it and undoes what was begun', async (t) => {
  const { cni, child, seen, ended } = start(t, ['add', 'plt-none'], 'ADD')
  const waits =
    /^waiting for \d s: the plugin sleepy \(ADD\) of the network test \(.*10-test.conflist\) has been running since/m
  await until('it is reported', () => waits.test(seen.err), deadlineMs)
  child.kill('SIGINT')
  assert.equal(await ended, 1)
  assert.match(seen.err, /^SIGINT: undoing what was begun; a second signal leaves it as it is$/m)
  assert.match(seen.err, /^error: the plugin sleepy \(ADD\) was killed: its caller gave up$/m)
  assert.deepEqual([seen.out, cni.order(), cni.cacheFiles()], ['', ['ADD sleepy', 'DEL sleepy'], []])
})

test('a second Ctrl-C leaves what could not be undone, and says what is left', async (t) => {
  const { cni, child, seen, ended, hangs } = start(t, ['add', 'plt-none'], 'ADD', 'DEL')
  await hangs('ADD')
  child.kill('SIGINT')
  await hangs('DEL')
  child.kill('SIGINT')
  assert.equal(await ended, 1)
  assert.match(seen.err, /^SIGINT: left as it is; "platnet cni del" undoes the rest$/m)
  assert.match(seen.err, /^warning: a failed ADD could not be undone: .*sleepy \(DEL\) was killed/m)
  assert.deepEqual(cni.cacheFiles(), ['test-cli-plt-none-eth0'])
})

test('Ctrl-C ends platnet cni del at once', async (t) => {
  const { child, seen, ended, hangs } = start(t, ['del', 'plt-none'], 'DEL')
  await hangs('DEL')
  child.kill('SIGINT')
  assert.equal(await ended, 1)
  assert.match(seen.err, /^error: the network test could not be taken from the pod: .*sleepy \(DEL\) was killed/m)
})
