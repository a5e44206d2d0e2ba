import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Ip } from '../../../../src/model/ip.ts'
import type { NetworkPolicy } from '../../../../src/model/network-policy.ts'
import type { PodRecord } from '../../../../src/node/policy/cluster-state.ts'
import { skipReason, withNetns } from '../../../helpers/netns.ts'
import { until, untilAsync } from '../../../helpers/until.ts'
import { buildNode, gateway, probe, startEcho, startPolicy, startTalk } from './policy-fixture.ts'

const [webIp, clientIp] = ['10.244.1.10', '10.244.1.11'] as const

type Policies = Awaited<ReturnType<typeof startPolicy>>

function putPods({ state }: Policies, ...pods: readonly (readonly [name: string, ip: string, role: string])[]): void {
  const life = { uid: '', ports: [], isLocal: true, isOutside: false, isTerminating: false, createdAtMs: 0 }
  const records = pods.map(([name, ip, role]): [string, PodRecord] => [
    `shop/${name}`,
    { key: `shop/${name}`, namespace: 'shop', labels: { role }, ips: [ip as Ip], ...life },
  ])
  state.setPods(new Map(records))
}

const selectRole = (role: string) => [{ key: 'role', operator: 'in', values: [role] }] as const

/** Only pods of these roles may reach those with the role web. */
function policy(...roles: readonly string[]): NetworkPolicy {
  const ingress = roles.map((role) => ({ peers: [{ kind: 'pods', pods: selectRole(role) } as const] }))
  return { key: 'shop/web', namespace: 'shop', name: 'web', podSelector: selectRole('web'), ingress }
}

function putPolicy({ state }: Policies, value: NetworkPolicy | undefined): void {
  state.setPolicies(new Map([['shop/web', value]]))
}

function untilSound({ plane }: Policies): Promise<void> {
  return until('the rules are written', () => plane.health().level === 'ok', 20_000)
}

/** Half a second without an answer; one comes every 20 ms where it may. */
async function isSilent(answers: () => number): Promise<boolean> {
  const before = answers()
  await sleep(500)
  return answers() === before
}

for (const flavour of ['nft', 'legacy'] as const) {
  test(
    `policies deny, allow, follow labels and cut connections that they no longer allow (${flavour})`,
    { skip: skipReason(`iptables-${flavour}`, 'ipset', 'conntrack'), timeout: 120_000 },
    () =>
      withNetns(async (lab) => {
        const { node, pods } = await buildNode(lab, { web: webIp, client: clientIp })
        const [web, client] = [pods.get('web'), pods.get('client')]
        assert.ok(web && client)
        await startEcho(web)
        assert.equal(await probe(client.netns, web.ip), 'open')
        const policies = await startPolicy(node, { flavour })
        try {
          putPods(policies, ['web', webIp, 'web'], ['client', clientIp, 'guest'])
          policies.list()
          await untilSound(policies)
          const answers = await startTalk(client.netns, web.ip)
          await until('the connection is answered', () => answers() > 5)

          putPolicy(policies, policy('friend'))
          await untilAsync('it is denied', async () => (await probe(client.netns, web.ip)) === 'silent')
          await untilAsync('the connection that was open before is cut', () => isSilent(answers))
          assert.equal(await probe(node, web.ip), 'open', 'the node reaches its own pods')
          const [denied] = await policies.denied()
          assert.ok(denied !== undefined && denied.pod === 'shop/web' && denied.packets > 0, JSON.stringify(denied))

          putPods(policies, ['client', clientIp, 'friend'])
          await untilAsync('the new label allows it', async () => (await probe(client.netns, web.ip)) === 'open')
          const friendly = await startTalk(client.netns, web.ip)
          await until('the connection is answered', () => friendly() > 5)
          putPolicy(policies, policy('friend', 'other'))
          await untilSound(policies)
          await sleep(500)
          const before = friendly()
          await until('a connection that stays allowed goes on', () => friendly() > before)

          putPolicy(policies, undefined)
          putPods(policies, ['client', clientIp, 'guest'])
          await untilAsync(
            'without a policy all is allowed',
            async () => (await probe(client.netns, web.ip)) === 'open',
          )
        } finally {
          await policies.stop()
        }
      }),
  )
}

test(
  'rules stay when the agent stops, and one that starts with the same objects writes nothing',
  { skip: skipReason('iptables-nft', 'ipset', 'conntrack'), timeout: 120_000 },
  () =>
    withNetns(async (lab) => {
      const { node, pods } = await buildNode(lab, { web: webIp, client: clientIp })
      const [web, client] = [pods.get('web'), pods.get('client')]
      assert.ok(web && client)
      await startEcho(web)
      const run = async (body: (policies: Policies) => Promise<void>) => {
        const policies = await startPolicy(node)
        try {
          putPods(policies, ['web', webIp, 'web'], ['client', clientIp, 'guest'])
          putPolicy(policies, policy('friend'))
          policies.list()
          await untilSound(policies)
          await body(policies)
        } finally {
          await policies.stop()
        }
      }
      await run(async ({ plane }) => {
        assert.equal(plane.status().families[0]?.lastSync?.kind, 'written')
        assert.equal(await probe(client.netns, web.ip), 'silent')
      })
      assert.equal(await probe(client.netns, web.ip), 'silent')
      const rules = await node.exec('iptables-nft', '-t', 'mangle', '-S')
      await run(async ({ plane }) => {
        assert.equal(plane.status().families[0]?.lastSync?.kind, 'unchanged')
        assert.equal(await node.exec('iptables-nft', '-t', 'mangle', '-S'), rules)
        assert.equal(await probe(client.netns, web.ip), 'silent')
      })
    }),
)

test(
  'a pod that is announced is isolated until its object is known',
  { skip: skipReason('iptables-nft', 'ipset', 'conntrack'), timeout: 120_000 },
  () =>
    withNetns(async (lab) => {
      const { node, pods } = await buildNode(lab, { web: webIp, client: clientIp })
      const [web, client] = [pods.get('web'), pods.get('client')]
      assert.ok(web && client)
      await startEcho(web)
      const policies = await startPolicy(node)
      try {
        putPods(policies, ['web', webIp, 'web'])
        policies.list()
        await untilSound(policies)
        policies.nodeState.announcePod({ key: 'shop/client', uid: '', containerId: 'c', ips: [client.ip] })
        await policies.applied.waitUntilPodApplied('c', { signal: AbortSignal.timeout(10_000) })
        assert.equal(await probe(client.netns, web.ip), 'silent')
        assert.equal(await probe(client.netns, gateway), 'ECONNREFUSED', 'its own node stays in reach')
        putPods(policies, ['client', clientIp, 'guest'])
        await untilAsync('it is known', async () => (await probe(client.netns, web.ip)) === 'open')
      } finally {
        await policies.stop()
      }
    }),
)
