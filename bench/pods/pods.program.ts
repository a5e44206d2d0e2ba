// The inner part of `npm run bench -- pods [cnitool]`, in namespaces of its own with a private /run: sandboxes on the list that this
// project ships, gate included, with an agent's memory around it. Prints its report as one line of JSON.
import { mkdirSync, readdirSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { createFastRun, createNetns, deleteNetns, NetnsMaker, runProgram } from '../../src/host/index.ts'
import { Slots } from '../../src/loop/slots.ts'
import { parseCidr } from '../../src/model/ip.ts'
import {
  answerGateHere,
  CniGate,
  CniRuntime,
  type CniSandbox,
  installShippedNetwork,
} from '../../src/node/cni/index.ts'
import { createControlSocket } from '../../src/node/control/index.ts'
import { sandboxesAtOnce } from '../../src/node/pods/index.ts'
import { AppliedRevisions, LiveNodeState } from '../../src/node/state/index.ts'
import { silentLogger } from '../../src/observe/index.ts'
import { processorMsWithChildren } from '../processor-time.ts'
import { type BenchReport, type BenchRow, compare, measureAlone, percentile } from '../report.ts'

const rounds = 40
const bursts = 8
const burstSize = 8
/** The same for both sides, and as the agent does it. */
const slots = new Slots(sandboxesAtOnce)
/** What an agent with a few thousand Services has in memory: a fork copies the tables of its pages. */
const ballast = Array.from({ length: 64 }, () => new Uint8Array(1 << 20).fill(1))

const root = '/run/platnet-bench'
const configDir = join(root, 'net.d')
const ipamDir = join(root, 'cni/networks')
const binDirs = ['/usr/lib/cni', resolve(import.meta.dirname, '../../cni')]
const controlSocket = join(root, 'agent.sock')
const run = createFastRun()
/** How long programs took that were started through `timedRun`, in all. */
let inPluginsMs = 0
const timedRun: typeof run = async (file, args, options) => {
  const startedMs = performance.now()
  try {
    return await run(file, args, options)
  } finally {
    inPluginsMs += performance.now() - startedMs
  }
}
const ownNamespaces = new NetnsMaker(run)
const settings = { configDir, binDirs, cacheDir: join(root, 'cni'), log: silentLogger }
/** Every plugin of the list is a program, as with cnitool and the bare calls: what the runtime itself costs. */
const runtime = new CniRuntime({ ...settings, run: timedRun })

interface Namespaces {
  create(name: string): Promise<void>
  delete(name: string): Promise<void>
}

const byIp: Namespaces = {
  create: (name) => createNetns(name, run),
  delete: (name) => deleteNetns(name, run),
}

/** A way to make a namespace, to give it its network and to take both away. */
interface Driver {
  readonly namespaces: Namespaces
  add(sandbox: CniSandbox): Promise<unknown>
  del(sandbox: CniSandbox): Promise<unknown>
}

function driverOf(cni: CniRuntime, namespaces: Namespaces): Driver {
  return { namespaces, add: (sandbox) => cni.add(sandbox), del: (sandbox) => cni.del(sandbox) }
}

/** The same plugins with the same input, and nothing around them. */
class BarePlugins implements Driver {
  readonly namespaces = byIp
  readonly #results = new Map<string, object>()

  async add(sandbox: CniSandbox): Promise<void> {
    let previous: object | undefined
    for (const plugin of await this.#plugins()) previous = await this.#call('ADD', plugin, sandbox, previous)
    this.#results.set(sandbox.containerId, previous ?? {})
  }

  async del(sandbox: CniSandbox): Promise<void> {
    const previous = this.#results.get(sandbox.containerId)
    for (const plugin of (await this.#plugins()).toReversed()) await this.#call('DEL', plugin, sandbox, previous)
  }

  #known: readonly { type: string; path: string; config: object }[] | undefined

  async #plugins(): Promise<readonly { type: string; path: string; config: object }[]> {
    const network = await (this.#known ?? runtime.defaultNetwork())
    if (!('plugins' in network)) return network
    const found = await runtime.plugins()
    this.#known = network.plugins.map(({ type, fields }) => {
      const path = found.find((one) => one.type === type)?.path ?? type
      return { type, path, config: { ...fields, name: network.name, cniVersion: network.cniVersion } }
    })
    return this.#known
  }

  async #call(
    command: string,
    plugin: { path: string; config: object },
    sandbox: CniSandbox,
    previous?: object,
  ): Promise<object> {
    const env = {
      PATH: process.env['PATH'] ?? '',
      CNI_COMMAND: command,
      CNI_CONTAINERID: sandbox.containerId,
      CNI_NETNS: sandbox.netnsPath,
      CNI_IFNAME: sandbox.ifName,
      CNI_PATH: binDirs.join(':'),
      CNI_ARGS: 'IgnoreUnknown=1',
    }
    const input = JSON.stringify({ ...plugin.config, ...(previous && { prevResult: previous }) })
    const ended = await run(plugin.path, [], { env, input, timeoutMs: 60_000, maxOutputBytes: 1e6, untrusted: true })
    if (ended.exitCode !== 0) throw new Error(`${plugin.path} ${command}: ${ended.stdout}${ended.stderr}`)
    return command === 'ADD' ? JSON.parse(ended.stdout) : {}
  }
}

function cnitoolDriver(file: string): Driver {
  const env = { NETCONFPATH: configDir, CNI_PATH: binDirs.join(':'), CNI_ARGS: 'IgnoreUnknown=1' }
  const call = (command: string) => (sandbox: CniSandbox) =>
    runProgram(file, [command, 'platnet', sandbox.netnsPath], { env, timeoutMs: 60_000 })
  return { namespaces: byIp, add: call('add'), del: call('del') }
}

let count = 0

function newSandbox(): CniSandbox {
  count += 1
  const name = `plt-bench-${count}`
  return {
    containerId: name,
    netnsPath: `/run/netns/${name}`,
    ifName: 'eth0',
    podNamespace: 'default',
    podName: name,
    podUid: name,
  }
}

interface Times {
  /** Namespace and ADD. */
  readonly sandbox: number[]
  readonly add: number[]
  /** Of an ADD, what `timedRun` did not see. */
  readonly outside: number[]
  /** DEL and namespace. */
  readonly teardown: number[]
  /** Of all processes in this namespace, for a sandbox and its teardown. */
  readonly processor: number[]
}

const newTimes = (): Times => ({ sandbox: [], add: [], outside: [], teardown: [], processor: [] })

async function setUp(driver: Driver, sandbox: CniSandbox, times: Times): Promise<void> {
  const startedMs = performance.now()
  await slots.run(async () => {
    await driver.namespaces.create(sandbox.containerId)
    const netnsMs = performance.now()
    inPluginsMs = 0
    await driver.add(sandbox)
    const addMs = performance.now() - netnsMs
    times.add.push(addMs)
    times.outside.push(addMs - inPluginsMs)
  })
  times.sandbox.push(performance.now() - startedMs)
}

async function tearDown(driver: Driver, sandbox: CniSandbox, times: Times): Promise<void> {
  const startedMs = performance.now()
  await driver.del(sandbox)
  await driver.namespaces.delete(sandbox.containerId)
  times.teardown.push(performance.now() - startedMs)
}

/** Processor time of the processes here and of those they waited for (proc(5), fields 14 to 17, in hundredths of a second). */
function processorMs(): number {
  const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name))
  return pids.reduce((sum, pid) => sum + unlessGone(() => processorMsWithChildren(pid)), 0)
}

function unlessGone(read: () => number): number {
  try {
    return read()
  } catch {
    return 0
  }
}

/**
 * One after another, the drivers by turns, so that a slow minute of the machine is everybody's. Each turn begins with another one: the kernel
 * is still busy with the namespace that went before, and how long depends on who removed it.
 */
async function measureAloneEach(drivers: readonly Driver[]): Promise<readonly Times[]> {
  const times = drivers.map(newTimes)
  for (let round = -3; round < rounds; round += 1) {
    for (const index of orderOf(round + 3, drivers.length)) {
      const driver = drivers[index]
      if (driver === undefined) continue
      const sandbox = newSandbox()
      const into = round < 0 ? newTimes() : (times[index] ?? newTimes())
      const beforeMs = processorMs()
      await setUp(driver, sandbox, into)
      await tearDown(driver, sandbox, into)
      into.processor.push(processorMs() - beforeMs)
    }
  }
  return times
}

/** Within a turn every one comes after every other one equally often (0, 3, 1, 2, then each one more, then all of these reversed). */
function orderOf(round: number, count: number): number[] {
  const zigzag = Array.from({ length: count }, (_, place) => (place % 2 === 0 ? place / 2 : count - (place + 1) / 2))
  const order = zigzag.map((index) => (index + round) % count)
  return Math.trunc(round / count) % 2 === 0 ? order : order.reverse()
}

/** Eight pods asked for at the same moment, as when a Deployment grows; again when all are gone. */
async function measureBursts(drivers: readonly Driver[]): Promise<readonly Times[]> {
  const times = drivers.map(newTimes)
  for (let burst = 0; burst < bursts; burst += 1) {
    for (const [index, driver] of drivers.entries()) {
      const sandboxes = Array.from({ length: burstSize }, newSandbox)
      await Promise.all(sandboxes.map((sandbox) => setUp(driver, sandbox, times[index] ?? newTimes())))
      for (const sandbox of sandboxes) await tearDown(driver, sandbox, newTimes())
    }
  }
  return times
}

/** An agent whose one plane applies at once. */
async function startAgent(): Promise<{ gate: CniGate; stop: () => Promise<void> }> {
  const state = new LiveNodeState(silentLogger)
  const applied = new AppliedRevisions(state)
  applied.register('instant')
  state.subscribe(({ revision }) => applied.publish('instant', revision))
  const gate = new CniGate({ state, applied, metrics: { observeWait: () => {} }, log: silentLogger })
  const control = createControlSocket({ path: controlSocket, applied, status: () => ({}), gate, log: silentLogger })
  await control.start()
  for (const resource of ['services', 'endpointslices', 'endpoints'] as const) state.replace(resource, [], '1')
  return { gate, stop: () => control.stop({ signal: AbortSignal.timeout(5000) }) }
}

function describe(what: string, part: keyof Times, mine: Times | undefined, peer: Times | undefined): BenchRow[] {
  return [0.5, 0.99].map((share) => {
    const value = percentile(mine?.[part] ?? [], share)
    const metric = `${what}, p${share * 100}`
    return peer
      ? compare(metric, 'ms', value, 'cnitool', percentile(peer[part], share))
      : measureAlone(metric, 'ms', value)
  })
}

function compareMeans(metric: string, mine: Times | undefined, peer: Times | undefined, peerName: string): BenchRow {
  const mean = ({ processor }: Times) => processor.reduce((sum, each) => sum + each, 0) / processor.length
  return compare(metric, 'ms', mean(mine ?? newTimes()), peerName, mean(peer ?? newTimes()))
}

async function measure(cnitool: string | undefined): Promise<BenchReport> {
  mkdirSync(root, { recursive: true })
  const podCidr = parseCidr('198.18.0.0/16')
  await installShippedNetwork({
    templateDir: resolve(import.meta.dirname, '../../cni'),
    configDir,
    podCidrs: podCidr ? [podCidr] : [],
    controlSocket,
    ipamDir,
  })
  const agent = await startAgent()
  const program = join(resolve(import.meta.dirname, '../../cni'), 'platnet-gate')
  const gateHere = answerGateHere({ gate: agent.gate, program, socket: controlSocket, run })
  const ours = driverOf(new CniRuntime({ ...settings, run: gateHere }), ownNamespaces)
  const peers = cnitool ? [cnitoolDriver(cnitool)] : []
  const everyPluginStarted = driverOf(runtime, byIp)
  const [alone, runner, bare, peerAlone] = await measureAloneEach([
    ours,
    everyPluginStarted,
    new BarePlugins(),
    ...peers,
  ])
  const [burst, peerBurst] = await measureBursts([ours, ...peers])
  await agent.stop()
  await ownNamespaces.stop()
  const ofRunner = (part: 'add' | 'outside'): number => percentile(runner?.[part] ?? [], 0.5)
  const overhead = 100 * (ofRunner('add') / percentile(bare?.add ?? [], 0.5) - 1)
  return {
    name: `pods (beside ${ballast.length} MB of an agent's memory)`,
    rows: [
      ...describe('sandbox (namespace, ADD, gate) alone', 'sandbox', alone, peerAlone),
      ...describe('sandbox, eight at once', 'sandbox', burst, peerBurst),
      ...describe('teardown (DEL, namespace)', 'teardown', alone, peerAlone),
      compareMeans('processor time a sandbox and its teardown', alone, bare, 'bare calls'),
      compareMeans('the same, every plugin started, namespaces by ip', runner, bare, 'bare calls'),
      measureAlone('ADD with every plugin started, beside the bare calls, p50', '% more', overhead),
      measureAlone('of it outside of the plugins, p50', '%', (100 * ofRunner('outside')) / ofRunner('add')),
    ],
  }
}

console.log(JSON.stringify(await measure(process.argv[2])))
