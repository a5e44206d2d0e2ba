import assert from 'node:assert/strict'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { type TestContext, test } from 'node:test'
import { findProcess, runProgram } from '../../../../src/host/index.ts'
import { examineNetworks } from '../../../../src/node/cni/examine.ts'
import { describeRunning } from '../../../../src/node/cni/index.ts'
import { FakeCni, sandbox } from '../../../helpers/fake-cni.ts'
import { until } from '../../../helpers/until.ts'

const runtimeFile = resolve(import.meta.dirname, '../../../../src/node/cni/runtime.ts')
const agent = `
  const { configDir, binDir, cacheDir, sandbox } = JSON.parse(process.argv[1])
  const { CniRuntime } = await import(${JSON.stringify(runtimeFile)})
  await new CniRuntime({ configDir, binDirs: [binDir], cacheDir, log: undefined }).add(sandbox)`

/** An agent that is killed while its plugin, which does that, is at work. */
async function killInAdd(t: TestContext, cni: FakeCni, sh: string): Promise<void> {
  cni.plugin('only').answer('ADD', { sh })
  cni.list('only')
  const { configDir, binDir, cacheDir } = cni
  const words = ['--input-type=module', '--eval', agent, JSON.stringify({ configDir, binDir, cacheDir, sandbox })]
  const program = await runProgram(process.execPath, words, { background: true })
  t.after(() => program.kill('SIGKILL'))
  await until('the plugin has begun', () => cni.order().includes('ADD only'), 20_000)
  program.kill('SIGKILL')
  await program.exited
}

const slow = 'sleep 1; echo "end of an ADD" >>"$d/../order"'

test('DEL waits for the plugin of an agent that was killed: it still runs, and would make what no DEL removes', async (t) => {
  const cni = new FakeCni(t)
  await killInAdd(t, cni, slow)
  await cni.runtime().del(sandbox)
  assert.deepEqual(cni.order(), ['ADD only', 'end of an ADD', 'DEL only'])
})

test('the wait for it is reported, and can be aborted', async (t) => {
  const cni = new FakeCni(t)
  await killInAdd(t, cni, 'while [ -d "$d" ]; do sleep 0.1; done')
  const work = new AbortController()
  const slow: string[] = []
  const stop = { work: work.signal, undoing: work.signal }
  const runtime = cni.runtime({ slowAfterMs: 50, onSlow: (call) => slow.push(describeRunning(call)), stop })
  const deleted = assert.rejects(runtime.del(sandbox), { code: 'cancelled' })
  const earlier = /^the plugin of a process before this one \(ADD\) has been running since/
  await until('it is reported', () => slow.some((line) => earlier.test(line)), 20_000)
  work.abort()
  await deleted
})

test('the doctor names the plugins that run, whatever started them', async (t) => {
  const cni = new FakeCni(t)
  const lines = async () => (await examineNetworks(cni.runtime())).map(({ level, what }) => `${level} ${what}`)
  const atWork = /^ok a plugin is at work: ADD of c1, process \d+$/
  await killInAdd(t, cni, 'while [ -d "$d" ]; do sleep 0.1; done')
  assert.equal((await lines()).filter((line) => atWork.test(line)).length, 1)
  assert.deepEqual(cni.runtime({ binDirs: [cni.folder] }).pluginsAtWork(), [])
})

test('so does an ADD', async (t) => {
  const cni = new FakeCni(t)
  await killInAdd(t, cni, slow)
  await cni.runtime().add(sandbox)
  assert.deepEqual(cni.order(), ['ADD only', 'end of an ADD', 'ADD only', 'end of an ADD'])
})

test('another container is not kept waiting', async (t) => {
  const cni = new FakeCni(t)
  await killInAdd(t, cni, `[ "$CNI_CONTAINERID" != c1 ] || { until [ -e "$d/go" ]; do sleep 0.1; done; ${slow}; }`)
  const runtime = cni.runtime()
  await runtime.add({ ...sandbox, containerId: 'c2' })
  assert.deepEqual(cni.order(), ['ADD only', 'ADD only'])
  writeFileSync(join(cni.binDir, 'only.d/go'), '')
  await runtime.del(sandbox)
  assert.deepEqual(cni.order(), ['ADD only', 'ADD only', 'end of an ADD', 'DEL only'])
})

test('one that does not end is killed with what it started when its time is over', async (t) => {
  const cni = new FakeCni(t)
  const pidFile = join(cni.folder, 'pid')
  await killInAdd(t, cni, `sleep 60 & echo $! >${pidFile}; wait`)
  await until('it has started another', () => existsSync(pidFile) && readFileSync(pidFile, 'utf8') !== '', 20_000)
  await cni.runtime({ pluginTimeoutMs: 1000 }).del(sandbox)
  assert.equal(findProcess(Number(readFileSync(pidFile, 'utf8'))), undefined)
  assert.deepEqual(cni.order(), ['ADD only', 'DEL only'])
})
