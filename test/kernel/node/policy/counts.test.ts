import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Ip } from '../../../../src/model/ip.ts'
import type { NetworkPolicy } from '../../../../src/model/network-policy.ts'
import type { PodRecord } from '../../../../src/node/policy/cluster-state.ts'
import { collectPolicyCounts, PolicyProblems } from '../../../../src/node/policy/index.ts'
import { createMetrics } from '../../../../src/observe/index.ts'
import { skipReason, withNetns } from '../../../helpers/netns.ts'
import { policyOf, selects } from '../../../helpers/policy-cluster.ts'
import { until, untilAsync } from '../../../helpers/until.ts'
import { buildNode, startPolicy } from './policy-fixture.ts'

const [webIp, clientIp, thirdIp] = ['10.244.1.10', '10.244.1.11', '10.244.1.12'] as const

type Policies = Awaited<ReturnType<typeof startPolicy>>

const sendCode = `const socket = require('dgram').createSocket('udp4')
let left = Number(process.argv[2])
const next = () => left-- > 0 ? socket.send('x', 9, process.argv[1], next) : socket.close()
next()`

function putPod({ state }: Policies, name: string, ip: string, labels: PodRecord['labels']): void {
  const key = `shop/${name}`
  const life = { uid: '', ports: [], isLocal: true, isOutside: false, isTerminating: false, createdAtMs: 0 }
  state.setPods(new Map([[key, { key, namespace: 'shop', labels, ips: [ip as Ip], ...life }]]))
}

/** Makes a change that the kernel has to follow, and waits until it has. Other changes must have been written before. */
async function untilWritten({ plane }: Policies, change: () => void): Promise<void> {
  const lastSync = () => plane.status().families[0]?.lastSync
  const before = lastSync()
  change()
  await until('the change is written', () => lastSync() !== before, 20_000)
}

function putPolicies(policies: Policies, ...next: readonly NetworkPolicy[]): Promise<void> {
  const changes = new Map(next.map((policy) => [policy.key, policy]))
  return untilWritten(policies, () => policies.state.setPolicies(changes))
}

/** Registers the metrics; returns the counts of denied packets by what is denied. */
function countsOf({ state, denied }: Policies) {
  const metrics = createMetrics()
  collectPolicyCounts(metrics, {
    state,
    problems: new PolicyProblems(),
    isEnforcing: () => true,
    readDenied: denied,
  })
  const line = /^platnet_policy_denied_packets\w*\{namespace="shop",(?:pod|policy)="(\w+)",direction="(\w+)"\} (\d+)$/
  return async () => {
    const { body } = await metrics.text()
    const found = body.split('\n').flatMap((text) => {
      const [, name, direction, packets] = line.exec(text) ?? []
      return name === undefined ? [] : [[`${name} ${direction}`, Number(packets)] as const]
    })
    return Object.fromEntries(found.filter(([, packets]) => packets > 0))
  }
}

test(
  'real packets that are denied count by pod, by direction and for each policy, and updates take nothing away',
  { skip: skipReason('iptables-nft', 'ipset'), timeout: 60_000 },
  () =>
    withNetns(async (lab) => {
      const { node, pods } = await buildNode(lab, { web: webIp, client: clientIp, third: thirdIp })
      const client = pods.get('client')
      assert.ok(client)
      const send = (count: number) => client.netns.exec(process.execPath, '-e', sendCode, webIp, String(count))
      const policies = await startPolicy(node)
      try {
        putPod(policies, 'web', webIp, { app: 'web' })
        putPod(policies, 'client', clientIp, { app: 'client' })
        policies.list()
        await until('the rules are written', () => policies.plane.health().level === 'ok', 20_000)
        const counts = countsOf(policies)
        const onWeb = { podSelector: selects({ app: 'web' }), ingress: [] }
        await putPolicies(policies, policyOf('shop/first', onWeb), policyOf('shop/second', onWeb))
        await send(7)
        assert.deepEqual(await counts(), { 'web ingress': 7, 'first ingress': 7, 'second ingress': 7 })

        const third = policyOf('shop/third', onWeb)
        await putPolicies(policies, third, policyOf('shop/first', { ...onWeb, egress: [] }))
        await untilWritten(policies, () => putPod(policies, 'third', thirdIp, { app: 'third' }))
        putPod(policies, 'web', webIp, { app: 'web', version: '2' })
        assert.deepEqual(await counts(), { 'web ingress': 7, 'first ingress': 7, 'second ingress': 7 })
        await send(3)
        const after = { 'web ingress': 10, 'first ingress': 10, 'second ingress': 10, 'third ingress': 3 }
        assert.deepEqual(await counts(), after)

        await putPolicies(policies, policyOf('shop/out', { podSelector: selects({ app: 'client' }), egress: [] }))
        await send(4)
        assert.deepEqual(
          await counts(),
          { ...after, 'client egress': 4, 'out egress': 4 },
          'what egress denies never arrives',
        )
      } finally {
        await policies.stop()
      }
    }),
)

test(
  'the preview of the rules of policies is empty, and names a rule and an element that others take away',
  { skip: skipReason('iptables-nft', 'ipset'), timeout: 60_000 },
  () =>
    withNetns(async (lab) => {
      const { node } = await buildNode(lab, { web: webIp })
      const policies = await startPolicy(node)
      try {
        putPod(policies, 'web', webIp, { app: 'web' })
        policies.list()
        await until('the rules are written', () => policies.plane.health().level === 'ok', 20_000)
        await putPolicies(policies, policyOf('shop/first', { ingress: [] }))
        await untilAsync('nothing differs', async () => (await policies.writer.preview()).length === 0)
        await node.exec('iptables-nft', '-t', 'mangle', '-F', 'PLAT-NETPOL')
        await node.exec('ipset', 'del', 'PLAT-NP-I4', webIp)
        const differences = await policies.writer.preview()
        assert.deepEqual(
          differences.map(({ table, chain, problem }) => [table, chain, problem]),
          [
            ['mangle', 'PLAT-NETPOL', 'different'],
            ['ipset', 'PLAT-NP-I4', 'different'],
          ],
        )
        assert.deepEqual(differences[1]?.wanted, [webIp])
      } finally {
        await policies.stop()
      }
    }),
)
