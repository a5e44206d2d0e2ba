import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join, resolve } from 'node:path'
import { type TestContext, test } from 'node:test'
import { type ProgramResult, type Run, runProgram } from '../../../../src/host/programs/index.ts'
import { answerGateHere, CniGate } from '../../../../src/node/cni/index.ts'
import { createControlSocket } from '../../../../src/node/control/index.ts'
import { AppliedRevisions, LiveNodeState } from '../../../../src/node/state/index.ts'
import { silentLogger } from '../../../../src/observe/logger.ts'
import { FakeCni, okResult, sandbox } from '../../../helpers/fake-cni.ts'
import { makeTemporaryFolder } from '../../../helpers/temporary-folder.ts'
import { until } from '../../../helpers/until.ts'

const plugin = resolve(import.meta.dirname, '../../../../cni/platnet-gate')
/** A deadline from its use on: other files of the process may run before this one. */
const scope = {
  get signal() {
    return AbortSignal.timeout(60_000)
  },
}

/** An agent's control socket with one plane, which publishes when the test says so. */
class GateLab {
  readonly state = new LiveNodeState(silentLogger)
  readonly applied = new AppliedRevisions(this.state)
  readonly waits: string[] = []
  readonly socket: string
  readonly gate: CniGate
  readonly #listener

  constructor(t: TestContext) {
    this.socket = join(makeTemporaryFolder(t), 'agent.sock')
    this.applied.register('slow')
    const metrics = { observeWait: (_: number, outcome: string) => void this.waits.push(outcome) }
    this.gate = new CniGate({ state: this.state, applied: this.applied, metrics, log: silentLogger })
    this.#listener = createControlSocket({
      path: this.socket,
      applied: this.applied,
      status: () => ({}),
      gate: this.gate,
      log: silentLogger,
    })
    t.after(() => this.#listener.stop(scope))
  }

  async start(): Promise<void> {
    await this.#listener.start()
  }

  sync(): void {
    for (const resource of ['services', 'endpointslices', 'endpoints'] as const) this.state.replace(resource, [], '1')
  }

  publish(): void {
    this.applied.publish('slow', this.state.revision)
  }
}

type RunGate = (command: string, config: object, more?: Record<string, string>) => Promise<ProgramResult>

function runGateBy(run: Run): RunGate {
  return (command, config, more = {}) => {
    const env = {
      PATH: '/usr/bin:/bin',
      CNI_COMMAND: command,
      CNI_CONTAINERID: 'c1',
      CNI_NETNS: '/run/netns/plt-none',
      CNI_IFNAME: 'eth0',
      CNI_ARGS: 'IgnoreUnknown=1;K8S_POD_NAMESPACE=default;K8S_POD_NAME=web-0;K8S_POD_UID=u1',
      ...more,
    }
    const input = JSON.stringify({ cniVersion: '1.0.0', name: 'test', type: 'platnet-gate', ...config })
    return run(plugin, [], { env, input, timeoutMs: 60_000, maxOutputBytes: 1e6, untrusted: true })
  }
}

const runGate = runGateBy(runProgram)

const noProgram: Run = () => Promise.reject(new Error('no program is to be started'))

/** Both ways to the same answers: the plugin as a program, and what the agent does where it runs the list itself. */
const ways: readonly { readonly way: string; readonly runnerOf: (lab: GateLab) => RunGate }[] = [
  { way: 'as a program', runnerOf: () => runGate },
  {
    way: 'within the agent',
    runnerOf: ({ gate, socket }) => runGateBy(answerGateHere({ gate, program: plugin, socket, run: noProgram })),
  },
]

for (const { way, runnerOf } of ways) {
  test(`${way}: an ADD ends when the slow plane has applied the addresses of the pod, and not before`, async (t) => {
    const lab = new GateLab(t)
    await lab.start()
    const runGate = runnerOf(lab)
    lab.sync()
    lab.publish()
    let ended = false
    const adding = runGate('ADD', { socket: lab.socket, prevResult: okResult }).then((run) => {
      ended = true
      return run
    })
    await until('the pod is announced', () => lab.state.localPod('c1') !== undefined, 30_000)
    assert.deepEqual(lab.state.localPod('c1'), {
      key: 'default/web-0',
      uid: 'u1',
      containerId: 'c1',
      ips: ['198.18.0.2'],
    })
    assert.equal(lab.state.revision, 2)
    lab.applied.publish('slow', 1)
    await new Promise((go) => setTimeout(go, 50))
    assert.equal(ended, false, 'the plane has revision 1 only')
    lab.publish()
    const { stdout, exitCode, stderr } = await adding
    assert.deepEqual([exitCode, stderr, JSON.parse(stdout)], [0, '', okResult])
    assert.deepEqual(lab.waits, ['applied'])
  })
}

for (const { way, runnerOf } of ways) {
  test(`${way}: an ADD before the first list waits for it`, async (t) => {
    const lab = new GateLab(t)
    await lab.start()
    const runGate = runnerOf(lab)
    const adding = runGate('ADD', { socket: lab.socket, prevResult: okResult })
    await until('the pod is announced', () => lab.state.localPod('c1') !== undefined, 30_000)
    assert.equal(lab.state.synced, false)
    lab.sync()
    lab.publish()
    assert.equal((await adding).exitCode, 0)
  })
}

for (const { way, runnerOf } of ways) {
  test(`${way}: a plane that does not come in time fails the ADD and is named, or is passed where the list says so`, async (t) => {
    const lab = new GateLab(t)
    await lab.start()
    const runGate = runnerOf(lab)
    lab.sync()
    const config = { socket: lab.socket, prevResult: okResult, timeoutMs: 1000 }
    const closed = await runGate('ADD', config)
    assert.equal(closed.exitCode, 1)
    const { code, msg } = JSON.parse(closed.stdout)
    assert.deepEqual([code, msg], [11, 'platnet-gate: not applied yet by: slow'])
    const open = await runGate('ADD', { ...config, onFailure: 'pass' })
    assert.deepEqual([open.exitCode, JSON.parse(open.stdout)], [0, okResult])
    assert.deepEqual(lab.waits, ['late', 'late'])
  })
}

for (const { way, runnerOf } of ways) {
  test(`${way}: DEL withdraws the pod`, async (t) => {
    const lab = new GateLab(t)
    await lab.start()
    const runGate = runnerOf(lab)
    lab.sync()
    lab.state.announcePod({ key: 'default/web-0', uid: 'u1', containerId: 'c1', ips: [] })
    const { exitCode, stdout } = await runGate('DEL', { socket: lab.socket, prevResult: okResult })
    assert.deepEqual([exitCode, stdout, lab.state.localPod('c1')], [0, '', undefined])
  })
}

test('without an agent ADD and STATUS fail or pass as the list says, and nothing else fails', async (t) => {
  const socket = join(makeTemporaryFolder(t), 'absent.sock')
  const closed = { socket, prevResult: okResult }
  const open = { ...closed, onFailure: 'pass' }
  const runs = await Promise.all([
    ...['ADD', 'STATUS', 'DEL', 'CHECK', 'GC'].map((command) => runGate(command, closed)),
    ...['ADD', 'STATUS'].map((command) => runGate(command, open)),
  ])
  assert.deepEqual(
    runs.map(({ exitCode }) => exitCode),
    [1, 1, 0, 0, 0, 0, 0],
  )
  assert.match(JSON.parse(runs[0]?.stdout ?? '').msg, /the agent does not answer: .*absent\.sock: No such file/)
  assert.deepEqual([JSON.parse(runs[0]?.stdout ?? '').code, JSON.parse(runs[1]?.stdout ?? '').code], [11, 50])
  assert.deepEqual(JSON.parse(runs[5]?.stdout ?? ''), okResult)
})

test('an agent that takes the question and never answers is not waited for beyond the limit', async (t) => {
  const socket = join(makeTemporaryFolder(t), 'deaf.sock')
  const deaf = createServer(() => {}).listen(socket)
  t.after(() => deaf.close())
  const { exitCode, stdout } = await runGate('ADD', { socket, prevResult: okResult, timeoutMs: 200 })
  assert.equal(exitCode, 1)
  assert.match(JSON.parse(stdout).msg, /no answer within 0.2 s/)
})

test('the result is handed on byte by byte, whatever strings stand in the list', async (t) => {
  const prevResult = {
    cniVersion: '1.0.0',
    'a"}{b': ['\\', '"prevResult":{', 'ü\u0001'],
    ips: [],
    deep: [[[{ x: [] }]], -1.5e3, null],
  }
  const noise = { before: '"prevResult": {"wrong":1}', nested: { prevResult: { wrong: 2 } }, list: [{}, [], ''] }
  const socket = join(makeTemporaryFolder(t), 'absent.sock')
  const { stdout } = await runGate('ADD', { ...noise, socket, onFailure: 'pass', prevResult, after: true })
  assert.equal(stdout, `${JSON.stringify(prevResult)}\n`)
})

for (const { way, runnerOf } of ways) {
  test(`${way}: first in its list, or with line breaks in a variable, it says so`, async (t) => {
    const lab = new GateLab(t)
    await lab.start()
    const runGate = runnerOf(lab)
    const first = await runGate('ADD', { socket: lab.socket, onFailure: 'pass' })
    assert.match(first.stdout, /"code":7,"msg":"platnet-gate: there is no prevResult/)
    const smuggled = await runGate(
      'ADD',
      { socket: lab.socket, prevResult: okResult },
      { CNI_ARGS: 'a=b\r\nx-cni-command: DEL' },
    )
    assert.match(smuggled.stdout, /"code":4,"msg":"platnet-gate: CNI_ARGS holds a control character"/)
  })
}

for (const { way, runnerOf } of ways) {
  test(`${way}: CHECK, STATUS and GC of an agent that is there succeed in silence`, async (t) => {
    const lab = new GateLab(t)
    await lab.start()
    const runGate = runnerOf(lab)
    for (const command of ['CHECK', 'STATUS', 'GC']) {
      const { exitCode, stdout, stderr } = await runGate(command, { socket: lab.socket, prevResult: okResult })
      assert.deepEqual([exitCode, stdout, stderr], [0, '', ''], command)
    }
  })
}

test('with a broken list it says so', async () => {
  const broken = await runProgram(plugin, [], {
    env: { CNI_COMMAND: 'ADD' },
    input: '{"type": "platnet-gate", ',
    timeoutMs: 60_000,
    maxOutputBytes: 1e6,
    untrusted: true,
  })
  assert.match(broken.stdout, /"code":6/)
})

for (const { way, runnerOf } of ways) {
  test(`${way}: the agent refuses an ADD that makes no sense, in words`, async (t) => {
    const lab = new GateLab(t)
    await lab.start()
    const runGate = runnerOf(lab)
    lab.sync()
    lab.publish()
    const { stdout, exitCode } = await runGate('ADD', { socket: lab.socket, prevResult: { ips: [{ address: 'x' }] } })
    assert.equal(exitCode, 1)
    assert.match(JSON.parse(stdout).msg, /ips.address: expected an address/)
    const nameless = await runGate('ADD', { socket: lab.socket, prevResult: okResult }, { CNI_CONTAINERID: '' })
    assert.match(JSON.parse(nameless.stdout).msg, /expected a container id/)
  })
}

test('another file of its name, a list of another agent and VERSION are programs within the agent too', async (t) => {
  const lab = new GateLab(t)
  const started: string[] = []
  const run: Run = async (file, _, { env }) => {
    started.push(`${file} ${env?.['CNI_COMMAND']}`)
    return { endedBy: 'exit', exitCode: 0, stdout: '', stderr: '', durationMs: 0 }
  }
  const { gate, socket } = lab
  await runGateBy(answerGateHere({ gate, program: '/opt/cni/bin/platnet-gate', socket, run }))('DEL', { socket })
  const here = runGateBy(answerGateHere({ gate, program: plugin, socket, run }))
  await here('DEL', { socket: '/run/other.sock' })
  await here('DEL', {})
  await here('VERSION', { socket })
  assert.deepEqual(started, [`${plugin} DEL`, `${plugin} DEL`, `${plugin} DEL`, `${plugin} VERSION`])
})

test('within the agent: the deadline of the runtime and a caller that gives up end the wait', async (t) => {
  const lab = new GateLab(t)
  const { gate, socket } = lab
  const run = answerGateHere({ gate, program: plugin, socket, run: noProgram })
  const options = {
    env: { CNI_COMMAND: 'ADD', CNI_CONTAINERID: 'c1' },
    input: JSON.stringify({ socket, prevResult: okResult }),
    maxOutputBytes: 1e6,
    untrusted: true,
  }
  assert.equal((await run(plugin, [], { ...options, timeoutMs: 10 })).endedBy, 'timeout')
  const leaving = new AbortController()
  const waiting = run(plugin, [], { ...options, timeoutMs: 60_000, signal: leaving.signal })
  leaving.abort()
  assert.equal((await waiting).endedBy, 'caller')
})

for (const isHere of [false, true]) {
  test(`the runtime runs it last in a list like any plugin${isHere ? ', within the agent' : ''}`, async (t) => {
    const lab = new GateLab(t)
    await lab.start()
    lab.sync()
    lab.publish()
    const cni = new FakeCni(t)
    cni.plugin('first', ['0.4.0', '1.0.0', '1.1.0'])
    writeFileSync(
      join(cni.configDir, '10-gate.conflist'),
      JSON.stringify({
        cniVersion: '1.1.0',
        name: 'gated',
        plugins: [{ type: 'first' }, { type: 'platnet-gate', socket: lab.socket }],
      }),
    )
    lab.state.subscribe(() => queueMicrotask(() => lab.publish()))
    const started: string[] = []
    const program: Run = (file, args, options) => {
      if (file === plugin) started.push(options.env?.['CNI_COMMAND'] ?? '')
      return runProgram(file, args, options)
    }
    const { gate, socket } = lab
    const run = isHere ? answerGateHere({ gate, program: plugin, socket, run: program }) : program
    const runtime = cni.runtime({ binDirs: [cni.binDir, resolve(plugin, '..')], run })
    assert.equal((await runtime.add(sandbox)).ips[0]?.ip, '198.18.0.2')
    assert.deepEqual(lab.state.localPod('c1')?.key, 'default/web-0')
    await runtime.del(sandbox)
    assert.equal(lab.state.localPod('c1'), undefined)
    assert.deepEqual(started, isHere ? ['VERSION'] : ['VERSION', 'ADD', 'DEL'])
  })
}
