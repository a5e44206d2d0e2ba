import { setTimeout as sleep } from 'node:timers/promises'
import type { PolicyCluster } from './cluster.ts'
import { localAddress, podPeer, probePorts } from './cluster.ts'
import type { PolicyLab } from './node-lab.ts'

const namespace = 'probe'
/** A single change is what is measured: the write before it has ended. */
const restMs = 150
const ruled = localAddress(200)
const open = localAddress(201)
const moving = localAddress(202)
const member = '10.245.240.1'
const outsider = '10.245.240.2'
const newcomer = (round: number) => `10.245.241.${round % 250}`

/** Milliseconds from the answer of the API to the fate of a packet, by kind of change. */
export interface ChangeTimes {
  readonly ruleChanged: readonly number[]
  readonly policyCreated: readonly number[]
  readonly policyDeleted: readonly number[]
  readonly remoteLabels: readonly number[]
  readonly localLabels: readonly number[]
  readonly newRemotePod: readonly number[]
}

/** The pods and the policies that single changes are made of, in a namespace of their own. */
export async function prepareChanges(cluster: PolicyCluster): Promise<void> {
  await cluster.createNamespace(namespace, { team: 'probe' })
  const local = { namespace, node: 'platnet' } as const
  await cluster.createPod({ ...local, name: 'ruled', labels: { app: 'ruled' }, ip: ruled })
  await cluster.createPod({ ...local, name: 'open', labels: { app: 'open' }, ip: open })
  await cluster.createPod({ ...local, name: 'moving', labels: { app: 'open' }, ip: moving })
  await cluster.createPod({ namespace, node: 'other', name: 'member', labels: { role: 'client' }, ip: member })
  await cluster.createPod({ namespace, node: 'other', name: 'outsider', labels: { role: 'none' }, ip: outsider })
  await cluster.createPolicy(namespace, 'ruled', ruledSpec('closed'))
}

const clientRule = { from: [podPeer({ role: 'client' })], ports: probePorts }
const outsiderRule = { from: [{ ipBlock: { cidr: `${outsider}/32` } }], ports: probePorts }

/** The outsider is allowed by it or not. */
function ruledSpec(to: 'open' | 'closed'): object {
  const ingress = to === 'open' ? [clientRule, outsiderRule] : [clientRule]
  return { ...podPeer({ app: 'ruled' }), policyTypes: ['Ingress'], ingress }
}

/** One change after the other, each waited for. */
export async function timeChanges(lab: PolicyLab, cluster: PolicyCluster, rounds: number): Promise<ChangeTimes> {
  const times = {
    ruleChanged: [] as number[],
    policyCreated: [] as number[],
    policyDeleted: [] as number[],
    remoteLabels: [] as number[],
    localLabels: [] as number[],
    newRemotePod: [] as number[],
  }
  const until = async (fate: 'allowed' | 'denied', source: string, destination: string, into: number[]) => {
    into.push(await lab.timeUntil(fate, source, [destination]))
    await sleep(restMs)
  }
  for (let round = 0; round < rounds; round += 1) {
    await cluster.replacePolicy(namespace, 'ruled', ruledSpec('open'))
    await until('allowed', outsider, ruled, times.ruleChanged)
    await cluster.replacePolicy(namespace, 'ruled', ruledSpec('closed'))
    await until('denied', outsider, ruled, times.ruleChanged)
    const onlyClients = { ...podPeer({ app: 'open' }), policyTypes: ['Ingress'], ingress: [clientRule] }
    await cluster.createPolicy(namespace, 'new', onlyClients)
    await until('denied', outsider, open, times.policyCreated)
    await cluster.deletePolicy(namespace, 'new')
    await until('allowed', outsider, open, times.policyDeleted)
    await cluster.setPodLabels(namespace, 'member', { role: 'none' })
    await until('denied', member, ruled, times.remoteLabels)
    await cluster.setPodLabels(namespace, 'member', { role: 'client' })
    await until('allowed', member, ruled, times.remoteLabels)
    await cluster.setPodLabels(namespace, 'moving', { app: 'ruled' })
    await until('denied', outsider, moving, times.localLabels)
    await cluster.setPodLabels(namespace, 'moving', { app: 'open' })
    await until('allowed', outsider, moving, times.localLabels)
    const ip = newcomer(round)
    await cluster.createPod({ namespace, node: 'other', name: `new-${round}`, labels: { role: 'client' }, ip })
    await until('allowed', ip, ruled, times.newRemotePod)
  }
  return times
}
