import assert from 'node:assert/strict'
import { test } from 'node:test'
import { removalsAhead } from '../../../src/netfilter/removals-ahead.ts'
import type { ProxyRuleSettings } from '../../../src/netfilter/settings.ts'
import { skipReason, withNetns } from '../../helpers/netns.ts'
import { buildRuleset } from '../../helpers/proxy-lab.ts'
import { diffRulesets } from '../../helpers/rulesets.ts'
import { makeService, makeSlice } from '../../helpers/services.ts'
import { settingsOf } from './bucket-packets.ts'
import { manyClients, PacketLab, places } from './packet-lab.ts'

const place = places.IPv4
const clients = 120

/** A Service with these endpoints of this node; sticky where the settings say how. */
function rulesWith(endpoints: readonly number[], affinity: ProxyRuleSettings['affinity']) {
  const service = makeService('default/web', place.clusterIp(1), {
    ...(affinity && { affinity: { timeoutSeconds: 600 } }),
  })
  const slices = [
    makeSlice(
      service.key,
      [['http', 'TCP', 8080]],
      endpoints.map((n) => place.local(n)),
    ),
  ]
  const rules = buildRuleset([{ service, slices }], { ...settingsOf('IPv4'), ...(affinity && { affinity }) })
  return { ruleset: rules.ruleset(), sets: rules.sets() }
}

async function whoAnswers(lab: PacketLab): Promise<readonly string[]> {
  await lab.forgetConnections()
  const probes = Array.from({ length: clients }, (_, n) => ({
    source: manyClients(n + 1),
    destination: place.clusterIp(1),
    port: 80,
    protocol: 'TCP' as const,
    patienceMs: 30_000,
  }))
  const answers = await lab.probe('client', probes)
  return [...new Set(answers.map((answer) => answer.split(' ').slice(0, 2).join(' ')))].sort()
}

const endpoint = (n: number) => `local ${place.local(n)}:8080`
const forms = [undefined, { form: 'recent', isHard: false }, { form: 'ipset', isHard: false }] as const

test(
  'once its rules have gone ahead no packet reaches an endpoint that is gone, and none passes untranslated, also of clients that come again',
  { skip: skipReason('iptables-nft', 'ipset', 'conntrack'), timeout: 240_000 },
  () =>
    withNetns(async (netns) => {
      const lab = await PacketLab.build(netns, 'nft', { nodePorts: [], onLoopback: [] })
      for (const affinity of forms) {
        const [before, after] = [rulesWith([1, 2, 3], affinity), rulesWith([1, 3], affinity)]
        await lab.install('IPv4', before.ruleset, before.sets)
        assert.deepEqual(await whoAnswers(lab), [1, 2, 3].map(endpoint))
        const changes = diffRulesets(before.ruleset, after.ruleset)
        const nat = changes.find(({ table }) => table === 'nat') ?? assert.fail()
        const drop = removalsAhead(nat, (chain) => before.ruleset.nat.get(chain))
        await lab.commit('IPv4', { table: 'nat', set: new Map(), remove: [], drop })
        assert.deepEqual(await whoAnswers(lab), [1, 3].map(endpoint), `ahead, ${affinity?.form}`)
        for (const change of changes) await lab.commit('IPv4', change)
        assert.deepEqual(await whoAnswers(lab), [1, 3].map(endpoint), `in the end, ${affinity?.form}`)
      }
    }),
)
