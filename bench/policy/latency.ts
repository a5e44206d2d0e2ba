import { setTimeout as sleep } from 'node:timers/promises'
import { runProgram } from '../../src/host/index.ts'
import { policyHooks } from '../../src/netfilter/policy/hooks.ts'
import { renderRule } from '../../src/netfilter/render.ts'
import { localAddress, type PolicyCluster, podPeer, probePorts } from './cluster.ts'
import type { PolicyLab } from './node-lab.ts'

const namespace = 'crowd'
const free = localAddress(210)
const crowded = localAddress(211)
const single = localAddress(212)
const client = '10.245.242.1'
const rounds = 10
const connectsPerRound = 500

/** Microseconds of connect() with the rules and with none: the hook in FORWARD is taken out and put back by turns. */
export interface LatencyTimes {
  readonly metric: string
  readonly withRules: readonly number[]
  readonly without: readonly number[]
}

/** Pods that no policy selects, that one selects and allows, and that many select of which only the last one allows. */
export async function prepareLatency(cluster: PolicyCluster, policies: number): Promise<void> {
  await cluster.createNamespace(namespace, { team: 'crowd' })
  const local = { namespace, node: 'platnet' } as const
  await cluster.createPod({ ...local, name: 'free', labels: { app: 'free' }, ip: free })
  await cluster.createPod({ ...local, name: 'crowded', labels: { app: 'crowded' }, ip: crowded })
  await cluster.createPod({ ...local, name: 'single', labels: { app: 'single' }, ip: single })
  await cluster.createPod({ namespace, node: 'other', name: 'client', labels: { role: 'client' }, ip: client })
  const ingress = (role: string) => [{ from: [podPeer({ role })], ports: probePorts }]
  const ofSingle = { ...podPeer({ app: 'single' }), policyTypes: ['Ingress'], ingress: ingress('client') }
  await cluster.createPolicy(namespace, 'single', ofSingle)
  for (let number = 0; number <= policies; number += 1) {
    const role = number === policies ? 'client' : `other-${number}`
    await cluster.createPolicy(namespace, `crowd-${String(number).padStart(5, '0')}`, {
      ...podPeer({ app: 'crowded' }),
      policyTypes: ['Ingress'],
      ingress: ingress(role),
    })
  }
}

/** No agent may run, for it would put the hook back. */
export async function measureLatency(lab: PolicyLab, policies: number): Promise<readonly LatencyTimes[]> {
  return [
    await compareConnects(lab, 'connect() to a pod that no policy selects', free),
    await compareConnects(lab, 'connect() to a pod that one policy selects and allows', single),
    await compareConnects(
      lab,
      `connect() to a pod with ${policies} policies that do not match, and one that does`,
      crowded,
    ),
  ]
}

async function compareConnects(lab: PolicyLab, metric: string, destination: string): Promise<LatencyTimes> {
  const withRules: number[] = []
  const without: number[] = []
  const sources = Array.from({ length: connectsPerRound }, () => client)
  for (let round = 0; round < rounds; round += 1) {
    withRules.push(...(await lab.timeConnects(destination, sources)))
    await changeHook(lab, '-D')
    without.push(...(await lab.timeConnects(destination, sources)))
    await changeHook(lab, '-I')
  }
  return { metric, withRules, without }
}

async function changeHook({ netns }: PolicyLab, how: '-D' | '-I'): Promise<void> {
  const hook = policyHooks().find(({ builtin }) => builtin === 'FORWARD')
  if (hook === undefined) throw new Error('policies have no hook in FORWARD')
  const rule = renderRule(hook.builtin, hook.rule, 'IPv4').replace(/^-A \S+ /, '')
  await runProgram('iptables', ['-t', hook.table, how, hook.builtin, ...rule.split(' ')], { netns, timeoutMs: 10_000 })
  await sleep(100)
}
