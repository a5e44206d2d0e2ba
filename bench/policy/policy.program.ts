// The inner part of `npm run bench -- policy`, in namespaces of its own: an API core with a cluster, and an agent on a node of it. Prints its
// report as one line of JSON; how far it is on standard error.
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { runProgram } from '../../src/host/index.ts'
import { findFreePort } from '../../test/helpers/free-port.ts'
import { PlatnetServer } from '../../test/helpers/platnet-server.ts'
import { serverAddress } from '../proxy/node-lab.ts'
import {
  type BenchReport,
  type BenchRow,
  compare,
  measureAlone,
  medianAndTail,
  percentile,
  progress,
} from '../report.ts'
import { BenchAgent } from './agent.ts'
import { type ChangeTimes, prepareChanges, timeChanges } from './changes.ts'
import { localAddress, PolicyCluster, podPeer, type Size } from './cluster.ts'
import { measureLatency, prepareLatency } from './latency.ts'
import { PolicyLab } from './node-lab.ts'

/** What is measured: all of it unless `BENCH_POLICY_PARTS` says which. */
const parts = (process.env['BENCH_POLICY_PARTS'] ?? 'gate,change,connect,large').split(',')
const rounds = Number(process.env['BENCH_POLICY_CHANGES'] ?? '60')
const size = parseSize('BENCH_POLICY_SIZE', '110x200x2000', 10)
const large = parseSize('BENCH_POLICY_LARGE', '110x30000x29890', 300)
/** After this an agent has collected its garbage. */
const restSeconds = 20

function parseSize(variable: string, otherwise: string, namespaces: number): Size {
  const text = process.env[variable] ?? otherwise
  const [localPods = Number.NaN, policies = Number.NaN, remotePods = Number.NaN] = text.split('x').map(Number)
  if (!(localPods > 0 && policies > 0 && remotePods > 0))
    throw new Error(`${variable}: expected such as ${otherwise}, found ${text}`)
  return { localPods, policies, remotePods, namespaces }
}

interface Scene {
  readonly cluster: PolicyCluster
  readonly lab: PolicyLab
  readonly start: (components: string) => Promise<BenchAgent>
}

async function inScene(of: Size, measure: (scene: Scene) => Promise<BenchRow[]>): Promise<BenchRow[]> {
  const folder = `/run/bench-server-${of.policies}`
  const flags = [
    '--components=api',
    '--dialect=kubernetes',
    '--disable-admission-plugins=ServiceAccount',
    `--bind-address=${serverAddress}`,
  ]
  const server = new PlatnetServer(folder, await findFreePort(), {}, flags)
  const cluster = new PolicyCluster(await server.start(), of)
  const lab = new PolicyLab()
  try {
    await cluster.create()
    progress(`cluster of ${JSON.stringify(of)} made`)
    await lab.create()
    const kubeconfig = join(folder, 'admin.kubeconfig')
    return await measure({ cluster, lab, start: (components) => BenchAgent.start(lab, kubeconfig, components) })
  } finally {
    await lab.remove()
    cluster.close()
    await server.stop('SIGTERM')
  }
}

async function measureNode(scene: Scene): Promise<BenchRow[]> {
  const { cluster, start } = scene
  await prepareChanges(cluster)
  const gatePods = await prepareGate(cluster)
  const gateWithout = parts.includes('gate') ? await timeGatesWithout(scene, gatePods) : []
  const agent = await start('proxy,policy')
  await sleep(2000)
  const gateWith = parts.includes('gate') ? await timeGates(agent, gatePods) : []
  progress('gate with policies timed')
  const changes = parts.includes('change') ? changeRows(await timeChanges(scene.lab, cluster, rounds)) : []
  progress('changes timed')
  await sleep(restSeconds * 1000)
  const { residentMiB } = agent.usage()
  const latencies = parts.includes('connect') ? await measureConnects(scene, agent) : []
  await agent.kill()
  progress('connect() timed')
  return [
    ...changes,
    ...(parts.includes('gate')
      ? besides("a new local pod's wait at the gate", 'ms', gateWith, 'no policies', gateWithout)
      : []),
    ...latencies,
    measureAlone('resident memory', 'MiB', residentMiB),
    measureAlone('start to policies in an empty kernel', 'ms', agent.startMs),
  ]
}

async function timeGatesWithout({ start }: Scene, gatePods: readonly string[]): Promise<readonly number[]> {
  const agent = await start('proxy')
  await sleep(2000)
  const tookMs = await timeGates(agent, gatePods)
  await agent.kill()
  progress('gate without policies timed')
  return tookMs
}

async function measureConnects({ cluster, lab }: Scene, agent: BenchAgent): Promise<BenchRow[]> {
  await prepareLatency(cluster, size.policies)
  await sleep(3000)
  await agent.kill()
  const latencies = await measureLatency(lab, size.policies)
  return latencies.flatMap(({ metric, withRules, without }) => besides(metric, 'µs', withRules, 'no rules', without))
}

function changeRows(changes: ChangeTimes): BenchRow[] {
  return [
    ...medianAndTail('a rule of a policy changed, API answer to packet', changes.ruleChanged),
    ...medianAndTail('a policy created, API answer to packet', changes.policyCreated),
    ...medianAndTail('a policy deleted, API answer to packet', changes.policyDeleted),
    ...medianAndTail("a remote pod's labels changed, API answer to packet", changes.remoteLabels),
    ...medianAndTail("a local pod's labels changed, API answer to packet", changes.localLabels),
    ...medianAndTail('a new remote pod, API answer to its address to packet', changes.newRemotePod),
  ]
}

/** Pods that the API knows and that have no network yet; the policies of their app select others too. */
async function prepareGate(cluster: PolicyCluster): Promise<readonly string[]> {
  const names = Array.from({ length: rounds }, (_, index) => `gate-${index}`)
  for (const name of names)
    await cluster.createPod({ namespace: 'team-0', name, labels: { app: 'app-0' }, node: 'platnet' })
  return names
}

async function timeGates(agent: BenchAgent, names: readonly string[]): Promise<readonly number[]> {
  const tookMs: number[] = []
  for (const [index, name] of names.entries()) {
    tookMs.push(await agent.timeGate('team-0', name, localAddress(120 + (index % 60))))
    await sleep(150)
  }
  return tookMs
}

async function measureLarge({ cluster, start }: Scene): Promise<BenchRow[]> {
  const rows: BenchRow[] = []
  const measureStart = async (what: string) => {
    const agent = await start('policy')
    rows.push(measureAlone(`large cluster: ${what}`, 'ms', agent.startMs))
    await sleep(restSeconds * 1000)
    rows.push(measureAlone('large cluster: resident after that', 'MiB', agent.usage().residentMiB))
    await agent.kill()
    progress(`large cluster: ${what}`)
  }
  await measureStart('start to policies in an empty kernel')
  await measureStart('restart with rules in place')
  const monitors = { namespaceSelector: {}, ...podPeer({ role: 'monitor' }) }
  await cluster.createPolicy('team-0', 'monitors', {
    ...podPeer({ app: 'app-0' }),
    policyTypes: ['Ingress'],
    ingress: [{ from: [monitors] }],
  })
  await measureStart('restart, a rule names pods of all namespaces')
  return rows
}

function besides(
  metric: string,
  unit: string,
  ours: readonly number[],
  peerName: string,
  peer: readonly number[],
): BenchRow[] {
  return [0.5, 0.99].map((share) =>
    compare(`${metric}, p${100 * share}`, unit, percentile(ours, share), peerName, percentile(peer, share)),
  )
}

await runProgram('ip', ['addr', 'add', serverAddress, 'dev', 'lo'], { timeoutMs: 10_000 })
const rows: BenchRow[] = []
if (parts.some((part) => part !== 'large')) rows.push(...(await inScene(size, measureNode)))
if (parts.includes('large')) rows.push(...(await inScene(large, measureLarge)))
const report: BenchReport = { name: 'policy', rows }
process.stdout.write(`${JSON.stringify(report)}\n`)
process.exit(0)
