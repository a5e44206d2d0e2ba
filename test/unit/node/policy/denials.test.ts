import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Ip } from '../../../../src/model/ip.ts'
import type { MemberEntry } from '../../../../src/netfilter/member-sets.ts'
import { ClusterState, type PodRecord } from '../../../../src/node/policy/cluster-state.ts'
import { DeniedByPolicy } from '../../../../src/node/policy/denied-counts.ts'
import { DenialLog, PolicyProblems, readDeniedCounts } from '../../../../src/node/policy/index.ts'
import { collectPolicyCounts } from '../../../../src/node/policy/metrics.ts'
import { createMetrics, type Logger } from '../../../../src/observe/index.ts'
import { createRecordingLogger } from '../../../helpers/recording-logger.ts'
import { until } from '../../../helpers/until.ts'

const [web, client] = ['10.244.1.10', '10.244.1.11'] as Ip[]

function createState(): ClusterState {
  const state = new ClusterState()
  const life = { uid: '', ports: [], isLocal: true, isOutside: false, isTerminating: false, createdAtMs: 0 }
  const record = (name: string, ip: Ip | undefined): [string, PodRecord] => [
    `shop/${name}`,
    { key: `shop/${name}`, namespace: 'shop', labels: { app: name }, ips: ip ? [ip] : [], ...life },
  ]
  state.setPods(new Map([record('web', web), record('client', client)]))
  const podSelector = [{ key: 'app', operator: 'in', values: ['web'] }] as const
  const policy = (name: string) => ({ key: `shop/${name}`, namespace: 'shop', name, podSelector, ingress: [] })
  state.setPolicies(new Map([policy('first'), policy('second')].map((each) => [each.key, each])))
  return state
}

function setsOf(members: Readonly<Record<string, readonly (string | MemberEntry)[]>>) {
  const entry = (member: string | MemberEntry) =>
    typeof member === 'string' ? { element: member, packets: 0, bytes: 0 } : member
  return { family: 'IPv4', membersOf: async (set: string) => (members[set] ?? []).map(entry) } as const
}

describe('denied packets', () => {
  const sets = setsOf({
    'PLAT-NP-CI4': [
      { element: '10.244.1.10', packets: 7, bytes: 420 },
      { element: '10.244.1.99', packets: 5, bytes: 300 },
    ],
    'PLAT-NP-CE4': [{ element: '10.244.1.11', packets: 2, bytes: 120 }],
  })

  test('are counted by pod and direction from the sets of the kernel', async () => {
    assert.deepEqual(await readDeniedCounts([sets], createState()), [
      { pod: 'shop/web', direction: 'ingress', packets: 7 },
      { pod: 'shop/client', direction: 'egress', packets: 2 },
    ])
  })

  test('stand in the metrics by pod, and by each policy that isolates the pod', async () => {
    const metrics = createMetrics()
    const state = createState()
    const readDenied = () => readDeniedCounts([sets], state)
    collectPolicyCounts(metrics, { state, problems: new PolicyProblems(), isEnforcing: () => true, readDenied })
    const { body } = await metrics.text()
    const lines = body.split('\n').filter((line) => /^platnet_policy/.test(line))
    for (const line of [
      'platnet_policy_enforcing 1',
      'platnet_policy_policies 2',
      'platnet_policy_isolated_pods{direction="ingress"} 1',
      'platnet_policy_isolated_pods{direction="egress"} 0',
      'platnet_policy_problems{reason="refused"} 0',
      'platnet_policy_denied_packets_total{namespace="shop",pod="web",direction="ingress"} 7',
      'platnet_policy_denied_packets_total{namespace="shop",pod="client",direction="egress"} 2',
      'platnet_policy_denied_packets_by_policy_total{namespace="shop",policy="first",direction="ingress"} 7',
      'platnet_policy_denied_packets_by_policy_total{namespace="shop",policy="second",direction="ingress"} 7',
    ])
      assert.ok(lines.includes(line), `${line} is not among\n${lines.join('\n')}`)
  })
})

describe('denied packets by policy', () => {
  const podSelector = [{ key: 'app', operator: 'in', values: ['web'] }] as const
  const late = { key: 'shop/late', namespace: 'shop', name: 'late', podSelector, ingress: [] }

  test('begin with a policy, outlive its pods, go on when the count of a pod begins anew, and end with it', () => {
    const state = createState()
    const counts = new DeniedByPolicy()
    const take = (...packets: readonly number[]) => {
      const denied = packets.map((each) => ({ pod: 'shop/web', direction: 'ingress', packets: each }) as const)
      return Object.fromEntries(counts.take(denied, state).map(({ policy, packets: sum }) => [policy, sum]))
    }
    assert.deepEqual(take(7), { 'shop/first': 7, 'shop/second': 7 })
    state.setPolicies(new Map([[late.key, late]]))
    assert.deepEqual(take(7), { 'shop/first': 7, 'shop/second': 7, 'shop/late': 0 })
    assert.deepEqual(take(9), { 'shop/first': 9, 'shop/second': 9, 'shop/late': 2 })
    assert.deepEqual(take(4), { 'shop/first': 13, 'shop/second': 13, 'shop/late': 6 })
    assert.deepEqual(take(), { 'shop/first': 13, 'shop/second': 13, 'shop/late': 6 })
    state.setPolicies(new Map([['shop/second', undefined]]))
    assert.deepEqual(take(1), { 'shop/first': 14, 'shop/late': 7 })
  })
})

describe('the log of denials', () => {
  test('has one line for each flow while packets come, with the pods and the reason', async (context) => {
    const logged: Readonly<Record<string, unknown>>[] = []
    const log: Logger = {
      ...createRecordingLogger().log,
      info: (_message, fields = {}) => void logged.push(fields),
    }
    let reads = 0
    const sets = setsOf({ 'PLAT-NP-LOG4': [`${client},tcp:80,${web}`, 'not an element'] })
    const denials = new DenialLog({
      families: [
        {
          ...sets,
          membersOf: (set) => {
            reads += 1
            return sets.membersOf(set)
          },
        },
      ],
      state: createState(),
      isNodeAddress: () => false,
      intervalMs: 5,
      log,
    })
    await denials.start()
    context.after(() => denials.stop({ signal: AbortSignal.timeout(1_000) }))
    await until('it has looked three times', () => reads >= 3)
    assert.deepEqual(logged, [
      {
        source: client,
        destination: web,
        protocol: 'TCP',
        port: 80,
        sourcePod: 'shop/client',
        destinationPod: 'shop/web',
        reason: 'ingress: no rule of shop/first, shop/second allows it',
      },
    ])
  })
})
