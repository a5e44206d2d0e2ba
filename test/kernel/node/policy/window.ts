import assert from 'node:assert/strict'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { TestNetns } from '../../../helpers/netns.ts'
import { cornerNamespaces, cornerPods, policiesOf } from '../../../helpers/policy-corners.ts'
import { type ModelCluster, withModelCluster } from './model-cluster.ts'
import { type PlaneNode, PolicyPlanes } from './policy-planes.ts'

/** Pods of the same node, of the other node, and outside, in both families. */
const receivers = [
  ...['10.244.0.2', '10.244.1.1', '10.244.2.1', '192.0.2.1'],
  ...['fd00::2', 'fd00:1::1', 'fd00:2::1', '2001:db8::1'],
]
const port = 7777
/** Addresses come again after so many pods. */
const addressCount = 8
const repetitions = 30

/** When the API tells of a pod: before its network is made, while it runs, or after all. */
const arrivals = ['before', 'while it runs', 'after'] as const

/**
 * Starts pods that a policy forbids to send, one after the other, each through the gate, while other policies come and go. Each sends from
 * its first instruction; returns what arrived of it, and what arrives of a pod that may send.
 */
export async function countFirstPackets(
  pods: number,
): Promise<{ readonly denied: number; readonly allowed: number; readonly started: number }> {
  const seen = { denied: 0, allowed: 0, started: 0 }
  await withModelCluster(async (model) => {
    for (const address of receivers) model.prober.catch(model.placeOf(address), address, port)
    const planes = await PolicyPlanes.start(model)
    const [node1] = planes.nodes
    assert.ok(node1 !== undefined)
    planes.setNamespaces(new Map(Object.entries(cornerNamespaces)))
    planes.setPods(new Map(cornerPods.map((pod) => [pod.key, { ...pod, node: model.nodeOf(pod.key) }])))
    const deny = { podSelector: { matchLabels: { may: 'no' } }, policyTypes: ['Egress'] }
    planes.setPolicies(new Map(policiesOf({ 'x/deny': deny }).map((policy) => [policy.key, policy])))
    planes.completeLists()
    await planes.whenApplied()
    const life = new AbortController()
    const others = keepBusy(planes, life.signal)
    try {
      for (let n = 0; n < pods; n += 1) {
        await runPod(model, planes, node1, n, 'no')
        seen.denied += sum(await model.prober.caught())
        seen.started += 1
      }
      await runPod(model, planes, node1, 0, 'yes')
      seen.allowed = sum(await model.prober.caught())
    } finally {
      life.abort()
      await others
      await planes.stop()
    }
  })
  return seen
}

function sum(caught: ReadonlyMap<string, number>): number {
  return caught.values().reduce((total, count) => total + count, 0)
}

/** The life of one pod: network, gate, program, end. */
async function runPod(
  model: ModelCluster,
  planes: PolicyPlanes,
  node: PlaneNode,
  n: number,
  may: string,
): Promise<void> {
  const [key, containerId, host] = [`x/w${n}${may}`, `c${n}${may}`, 100 + (n % addressCount)]
  const ips = [`10.244.0.${host}`, `fd00::1:${host}`] as const
  const arrival = may === 'yes' ? 'before' : (arrivals[n % arrivals.length] ?? 'before')
  const tellApi = () =>
    planes.setPods(new Map([[key, { key, labels: { may }, ips: [], node: 'node1', details: { uid: containerId } }]]))
  const netns = model.places.get('stranger1') ?? assert.fail()
  await setAddresses(netns, ips)
  if (arrival === 'before') tellApi()
  await node.admit(key, containerId, ips)
  if (may === 'yes') await planes.whenApplied()
  const program = path.join(import.meta.dirname, 'first-packets.pl')
  const args = [program, key, String(repetitions), String(port), ...receivers]
  const running = await netns.start('perl', args, { stderr: 'inherit' })
  if (arrival === 'while it runs') tellApi()
  assert.equal((await running.exited).exitCode, 0)
  if (arrival === 'after') tellApi()
  planes.setPods(new Map([[key, undefined]]))
  await node.withdraw(containerId)
}

/** The pod has no other addresses, so that it sends from these. */
async function setAddresses(netns: TestNetns, [four, six]: readonly [string, string]): Promise<void> {
  const lines = [
    'address flush dev eth0 scope global',
    `address add ${four}/23 dev eth0`,
    `address add ${six}/31 dev eth0 nodad`,
    'route replace default via 10.244.0.254',
    'route replace default via fd00::ff',
  ]
  await netns.run('ip', ['-batch', '-'], { timeoutMs: 10_000, input: `${lines.join('\n')}\n` })
}

/** Policies of others come and go all the time, so that the plane is busy when a pod comes. */
async function keepBusy(planes: PolicyPlanes, signal: AbortSignal): Promise<void> {
  for (let n = 0; !signal.aborted; n += 1) {
    const name = `y/p${n % 5}`
    const [policy] = policiesOf({ [name]: { podSelector: {}, ingress: [{ ports: [{ port: 1 + (n % 1000) }] }] } })
    planes.setPolicies(new Map([[name, n % 3 === 0 ? undefined : policy]]))
    await sleep(100, undefined, { signal }).catch(() => undefined)
  }
}
