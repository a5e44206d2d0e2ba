import assert from 'node:assert/strict'
import { copyFileSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { runProgram } from '../../src/host/index.ts'
import { CniRuntime } from '../../src/node/cni/index.ts'
import { silentLogger } from '../../src/observe/index.ts'
import { debianPlugins } from '../helpers/cni-node.ts'
import { withNetns } from '../helpers/netns.ts'
import { type AnyObject, deadlineMs, type PodsLab, shownFolder } from '../helpers/pods-lab.ts'
import { untilAsync } from '../helpers/until.ts'
import { Prober } from '../kernel/node/policy/prober.ts'

const program = 'first-packets.pl'
const [port, repetitions] = [7777, 20]
const outsideAddress = '192.0.2.9'
const podsResource = { group: '', version: 'v1', resource: 'pods' }
const policies = { group: 'networking.platform.internal', version: 'v1', resource: 'networkpolicies' }
/** The namespace of pods that the agent does not run. */
const guests = 'guests'
const guestsFolder = `/run/${guests}`
/** How many pods live at the same time. */
const laneCount = 3

/** Starts a pod whose first instruction sends; resolves when its program has ended and the pod is gone. */
type Start = (name: string, role: 'mute' | 'friend') => Promise<void>

/** Counts of datagrams and connections that arrived. */
interface FirstPackets {
  /** Pods of role `mute` that sent all of theirs. */
  readonly ended: number
  /** What arrived of all of them. */
  readonly denied: number
  /** What arrived of one pod of role `friend`. */
  readonly allowed: number
}

export interface FirstPacketsOfKinds {
  /** Pods that the agent runs: it calls the plugins, and answers for the gate itself. */
  readonly run: FirstPackets
  /** Pods of another runtime, whose list starts bridge, host-local and platnet-gate as programs. */
  readonly chained: FirstPackets
}

/**
 * Starts so many pods of role `mute` of each kind, while other policies come and go. Each sends datagrams and SYNs from its first instruction
 * to `receiver`, a pod that the lab runs, and to a host outside; policy `default/mute` must be enforced.
 */
export async function countFirstPackets(
  lab: PodsLab,
  receiver: AnyObject,
  count: number,
): Promise<FirstPacketsOfKinds | undefined> {
  await putPolicies(lab)
  let seen: FirstPacketsOfKinds | undefined
  await withNetns(async (namespaces) => {
    const outside = await namespaces.create()
    await connectOutside(lab.nodeAddress, outside.name)
    const prober = await catchPackets(receiver, outside.name)
    const targets = [receiver.status.podIP, outsideAddress]
    const argsOf = (name: string) => [name, String(repetitions), String(port), ...targets]
    const life = new AbortController()
    const others = keepBusy(lab, life.signal)
    seen = {
      run: await countOf(prober, runOnAgent(lab, argsOf), count),
      chained: await countOf(prober, runInChain(lab, argsOf), count),
    }
    life.abort()
    await others
    await prober.stop()
  })
  return seen
}

async function countOf(prober: Prober, start: Start, count: number): Promise<FirstPackets> {
  let ended = 0
  const lane = async (first: number) => {
    for (let n = first; n < count; n += laneCount) {
      await start(`mute-${n}`, 'mute')
      ended += 1
    }
  }
  await Promise.all(Array.from({ length: laneCount }, (_, first) => lane(first)))
  const denied = await countCaught(prober)
  await start('friend-0', 'friend')
  return { ended, denied, allowed: await countCaught(prober) }
}

async function countCaught(prober: Prober): Promise<number> {
  return (await prober.caught()).values().reduce((total, count) => total + count, 0)
}

/** Lets the receiver be reached by everyone, and forbids guests to send. */
async function putPolicies(lab: PodsLab): Promise<void> {
  const metadata = { name: guests }
  await lab.create({ group: '', resource: 'namespaces' }, { apiVersion: 'v1', kind: 'Namespace', metadata })
  const open = { podSelector: { matchLabels: { role: 'web' } }, ingress: [{}] }
  const mute = { podSelector: { matchLabels: { role: 'mute' } }, policyTypes: ['Egress'] }
  await putPolicy(lab, { name: 'open', namespace: 'default' }, open)
  await putPolicy(lab, { name: 'mute', namespace: guests }, mute)
  await untilAsync('they are known', async () => (await lab.status()).includes('4 NetworkPolicies'), deadlineMs)
}

async function putPolicy(lab: PodsLab, metadata: AnyObject, spec: AnyObject): Promise<void> {
  await lab.create(policies, { apiVersion: `${policies.group}/v1`, kind: 'NetworkPolicy', metadata, spec })
}

/** Connects a host to the network of the node's address. */
async function connectOutside(nodeAddress: string, netns: string): Promise<void> {
  const inside = [
    'link set eth0 up',
    `address add ${outsideAddress}/24 dev eth0`,
    `route add default via ${nodeAddress}`,
  ]
  const ip = (lines: readonly string[], options: { readonly netns?: string } = {}) =>
    runProgram('ip', ['-batch', '-'], { timeoutMs: 10_000, input: `${lines.join('\n')}\n`, ...options })
  await ip([`link add far type veth peer name eth0 netns ${netns}`, 'link set far master plt-uplink up'])
  await ip(inside, { netns })
}

async function catchPackets(receiver: AnyObject, outside: string): Promise<Prober> {
  const ofPod = readdirSync('/run/netns').find((name) => name.endsWith(receiver.metadata.uid))
  assert.ok(ofPod !== undefined, 'the receiver has no network namespace')
  const prober = await Prober.start(
    new Map([
      ['pod', ofPod],
      ['outside', outside],
    ]),
  )
  prober.catch('pod', receiver.status.podIP, port)
  prober.catch('outside', outsideAddress, port)
  return prober
}

/** Creates and deletes a policy of the same pods all the time, so that the plane is busy when a pod comes. */
async function keepBusy(lab: PodsLab, signal: AbortSignal): Promise<void> {
  const metadata = { name: 'busy', namespace: 'default' }
  while (!signal.aborted) {
    await putPolicy(lab, metadata, { podSelector: {}, ingress: [{ ports: [{ port: 1 }] }] })
    await sleep(50)
    await lab.client.delete({ resource: policies, ...metadata })
    await sleep(50)
  }
}

function runOnAgent(lab: PodsLab, argsOf: (name: string) => readonly string[]): Start {
  copyFileSync(sourceOf(program), `${shownFolder}/${program}`)
  return async (name, role) => {
    const command = ['perl', `${shownFolder}/${program}`, ...argsOf(name)]
    const spec = { restartPolicy: 'Never', terminationGracePeriodSeconds: 0 }
    await lab.createPod(name, { command }, spec, { labels: { role } })
    await lab.waitFor(name, 'over', ({ status }) => status.phase === 'Succeeded')
    await lab.deletePod(name)
    await lab.waitGone(name)
  }
}

function runInChain(lab: PodsLab, argsOf: (name: string) => readonly string[]): Start {
  const runtime = makeRuntime(lab.controlSocket)
  return (name, role) =>
    withNetns(async (namespaces) => {
      const { name: netns } = await namespaces.create()
      const { metadata } = await lab.createPod(name, {}, {}, { namespace: guests, labels: { role } })
      const sandbox = {
        ...{ containerId: name, netnsPath: `/run/netns/${netns}`, ifName: 'eth0' },
        ...{ podNamespace: guests, podName: name, podUid: metadata.uid },
      }
      await runtime.add(sandbox)
      await runProgram('perl', [sourceOf(program), ...argsOf(name)], { timeoutMs: deadlineMs, netns })
      await runtime.del(sandbox)
      await lab.client.delete({ resource: podsResource, namespace: guests, name })
    })
}

/** A runtime with a network list, folders and addresses of its own, so that the agent knows its pods from the gate alone. */
function makeRuntime(socket: string): CniRuntime {
  const [configDir, cacheDir] = [`${guestsFolder}/net.d`, `${guestsFolder}/cni`]
  const ipam = { type: 'host-local', dataDir: `${guestsFolder}/ipam`, ranges: [[{ subnet: '10.245.0.0/24' }]] }
  const bridge = { type: 'bridge', bridge: 'plt-guests', isDefaultGateway: true, ipMasq: true, ipam }
  const plugins = [bridge, { type: 'platnet-gate', socket }]
  mkdirSync(configDir, { recursive: true })
  writeFileSync(
    `${configDir}/10-guests.conflist`,
    JSON.stringify({ cniVersion: '1.0.0', name: 'guests', disableCheck: true, plugins }),
  )
  const binDirs = [debianPlugins, resolve(import.meta.dirname, '../../cni')]
  return new CniRuntime({ configDir, binDirs, cacheDir, log: silentLogger })
}

function sourceOf(file: string): string {
  return resolve(import.meta.dirname, '../kernel/node/policy', file)
}
