import { createInterface } from 'node:readline'
import type { Ip } from '../../../../src/model/ip.ts'
import { policyHooks } from '../../../../src/netfilter/policy/hooks.ts'
import {
  ClusterState,
  createFlowCutter,
  createFlowCutterMetrics,
  createPolicyMetrics,
  findPolicyObstacles,
  ListedCollections,
  LivePlan,
  PolicyPlane,
  PolicyProblems,
  policyPlane,
  readDeniedCounts,
  StandingRules,
} from '../../../../src/node/policy/index.ts'
import { detectIptables, type Flavour, Iptables, RulesWriter } from '../../../../src/node/rules/index.ts'
import { AppliedRevisions, LiveNodeState } from '../../../../src/node/state/index.ts'
import { createMetrics, silentLogger } from '../../../../src/observe/index.ts'
import type { NetnsLab, TestNetns } from '../../../helpers/netns.ts'

export const gateway = '10.244.1.1' as Ip

export interface LabPod {
  readonly netns: TestNetns
  readonly ip: Ip
}

/** A node with pods on one bridge, each in a namespace of its own. */
export async function buildNode(lab: NetnsLab, pods: Readonly<Record<string, string>>) {
  const node = await lab.create()
  await node.exec('ip', 'link', 'add', 'cni0', 'type', 'bridge')
  await node.exec('ip', 'address', 'add', `${gateway}/24`, 'dev', 'cni0')
  await node.exec('ip', 'link', 'set', 'cni0', 'up')
  await node.exec('sysctl', '-qw', 'net.ipv4.ip_forward=1', 'net.bridge.bridge-nf-call-iptables=1')
  const made = new Map<string, LabPod>()
  for (const [name, ip] of Object.entries(pods)) {
    const netns = await lab.create()
    await node.exec('ip', 'link', 'add', name, 'type', 'veth', 'peer', 'name', 'eth0', 'netns', netns.name)
    await node.exec('ip', 'link', 'set', name, 'master', 'cni0', 'up')
    await netns.exec('ip', 'address', 'add', `${ip}/24`, 'dev', 'eth0')
    await netns.exec('ip', 'link', 'set', 'lo', 'up')
    await netns.exec('ip', 'link', 'set', 'eth0', 'up')
    await netns.exec('ip', 'route', 'add', 'default', 'via', gateway)
    made.set(name, { netns, ip: ip as Ip })
  }
  return { node, pods: made }
}

/** Enforcement of one family in a namespace, its objects handed over by the test. */
export async function startPolicy(netns: TestNetns, { flavour = 'nft' as Flavour, logsDenied = false } = {}) {
  const nodeState = new LiveNodeState(silentLogger)
  const applied = new AppliedRevisions(nodeState)
  applied.register(policyPlane)
  const state = new ClusterState()
  const lists = new ListedCollections()
  const metrics = createMetrics()
  const iptables = new Iptables(await detectIptables(netns.run, 'IPv4', flavour), netns.run)
  const writer = new RulesWriter({ iptables, hooks: policyHooks(), tables: ['mangle'], log: silentLogger })
  const settings = { family: 'IPv4', dnsAddresses: [], podCidrs: [], isolatesUnknown: false, logsDenied } as const
  const plan = new LivePlan(settings)
  const rules = new StandingRules()
  const cutter = createFlowCutter({
    family: 'IPv4',
    run: netns.run,
    plan,
    rules,
    membersOf: (set) => writer.membersOf(set),
    nodeAddresses: () => new Set([gateway]),
    metrics: createFlowCutterMetrics(metrics)('IPv4'),
    log: silentLogger,
  })
  const plane = new PolicyPlane({
    families: [{ family: 'IPv4', plan, rules, writer, cutter }],
    state,
    lists,
    problems: new PolicyProblems(),
    nodeState,
    applied,
    findObstacles: () => findPolicyObstacles({ families: [], run: netns.run }),
    metrics: createPolicyMetrics(metrics, ['IPv4']),
    log: silentLogger,
  })
  await plane.start()
  for (const resource of ['services', 'endpointslices', 'endpoints'] as const) nodeState.replace(resource, [], '1')
  const stop = async () => {
    const scope = { signal: AbortSignal.timeout(10_000) }
    for (const part of [plane, cutter, writer]) await part.stop(scope)
  }
  const list = () => {
    lists.settle()
  }
  const denied = () => readDeniedCounts([{ family: 'IPv4', membersOf: (set) => writer.membersOf(set) }], state)
  return { plane, state, nodeState, applied, writer, list, denied, stop }
}

const serverCode = `require('net').createServer((s) => { s.on('error', () => {}); s.pipe(s) }).listen(8080, () => console.log('up'))`

/** Answers TCP on port 8080 with what it gets. */
export async function startEcho({ netns }: LabPod): Promise<void> {
  const server = await netns.start(process.execPath, ['-e', serverCode], { stdout: 'pipe' })
  await new Promise((resolve) => server.stdout?.once('data', resolve))
}

const probeCode = `const s = require('net').connect({ host: process.argv[1], port: 8080, timeout: Number(process.argv[2]) })
s.on('connect', () => { console.log('open'); process.exit() })
s.on('timeout', () => { console.log('silent'); process.exit() })
s.on('error', (e) => { console.log(e.code); process.exit() })`

/** `open`, `silent` after 500 ms, or the code of the error. */
export async function probe(from: TestNetns, to: Ip): Promise<string> {
  return (await from.exec(process.execPath, '-e', probeCode, to, '500')).trim()
}

const talkCode = `const s = require('net').connect({ host: process.argv[1], port: 8080 })
setInterval(() => s.write('.'), 20)
s.on('data', () => console.log('answered'))
s.on('error', () => {})`

/** Opens one connection that says something all the time; returns how often it was answered. */
export async function startTalk(from: TestNetns, to: Ip): Promise<() => number> {
  const client = await from.start(process.execPath, ['-e', talkCode, to], { stdout: 'pipe' })
  let answers = 0
  if (client.stdout) createInterface(client.stdout).on('line', () => answers++)
  return () => answers
}
