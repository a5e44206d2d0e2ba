import assert from 'node:assert/strict'
import { test } from 'node:test'
import { proxyHooks } from '../../../../src/netfilter/hooks.ts'
import type { ProxyRuleSettings } from '../../../../src/netfilter/settings.ts'
import { tracePacket } from '../../../../src/netfilter/trace/trace-packet.ts'
import { applyForeignChains } from '../../../../src/node/proxy/explain-path.ts'
import {
  detectIptables,
  Iptables,
  probeForwarding,
  RulesWriter,
  readBaseChains,
} from '../../../../src/node/rules/index.ts'
import { silentLogger } from '../../../../src/observe/index.ts'
import { skipReason, type TestNetns, withNetns } from '../../../helpers/netns.ts'
import { buildRuleset, firstPacket, worldOf } from '../../../helpers/proxy-lab.ts'
import { writeRuleset } from '../../../helpers/rulesets.ts'
import { cidr } from '../../../helpers/services.ts'

const podCidr = cidr('10.244.0.0/16')
const podToPod = firstPacket('10.244.1.5', '10.244.2.5', 80)
const outside = firstPacket('203.0.113.5', '198.51.100.9', 80)

const ofOthers = `*filter
:DOCKER-USER - [0:0]
:ufw-forward - [0:0]
-A DOCKER-USER -j RETURN
-A ufw-forward -m conntrack --ctstate RELATED,ESTABLISHED -j ACCEPT
-A ufw-forward -m limit --limit 3/min -j ACCEPT
-A ufw-forward -d 198.51.100.9/32 -p tcp -m tcp --dport 80 -j REJECT
-A FORWARD -j DOCKER-USER
-A FORWARD -j ufw-forward
COMMIT
`

const nftTable = `table inet fw {
  chain input { type filter hook input priority 0; policy accept; }
  chain forwarding {
    type filter hook forward priority 10; policy drop;
    ct state established,related counter accept
    iifname "lan0" accept
  }
}
`

async function explain(netns: TestNetns, isAccepted: boolean, packet = podToPod) {
  const settings: ProxyRuleSettings = { family: 'IPv4', ...(isAccepted && { acceptedPods: [podCidr] }) }
  const world = worldOf(buildRuleset([], settings), ['192.0.2.1'])
  const [outcome] = tracePacket(packet, world)
  assert.ok(outcome)
  const { verdict, lines } = applyForeignChains(outcome, packet, world, await readBaseChains(netns.run, 'IPv4'))
  return { verdict, text: lines.join('\n') }
}

for (const flavour of ['nft', 'legacy'] as const) {
  const skip = skipReason(`iptables-${flavour}`, 'iptables-nft', 'nft')
  test(
    `explain names who decides behind our rules: a policy, a rule, a table written with nft (${flavour})`,
    { skip, timeout: 60_000 },
    () =>
      withNetns(async (lab) => {
        const netns = await lab.create()
        const where = `iptables-${flavour}, table filter, chain FORWARD`
        assert.deepEqual(await explain(netns, false), { verdict: 'accept', text: '' }, 'nothing stands there')
        const iptables = new Iptables(await detectIptables(netns.run, 'IPv4', flavour), netns.run)
        const writer = new RulesWriter({ iptables, hooks: proxyHooks(), log: silentLogger })
        await writeRuleset(writer, buildRuleset([], { family: 'IPv4' }).ruleset(), { value: 1n, count: 1 })
        await netns.exec(`iptables-${flavour}`, '-P', 'FORWARD', 'DROP')
        const byPolicy = await explain(netns, false)
        assert.equal(byPolicy.verdict, 'drop')
        assert.match(byPolicy.text, new RegExp(`dropped without an answer by ${where}: its policy DROP`))
        assert.deepEqual(
          await explain(netns, true),
          { verdict: 'accept', text: '' },
          'our rule accepts before the policy',
        )

        await netns.run(`iptables-${flavour}-restore`, ['--noflush'], { timeoutMs: 10_000, input: ofOthers })
        const byRule = await explain(netns, true, outside)
        assert.equal(byRule.verdict, 'reject')
        assert.match(byRule.text, /refused by .*: its rule "-d 198\.51\.100\.9\/32 -p tcp -m tcp --dport 80 -j REJECT/)
        assert.match(byRule.text, /may decide otherwise: "-m limit --limit 3\/min.* -j ACCEPT"/)
        assert.equal((await explain(netns, true)).verdict, 'accept')

        await netns.run('nft', ['-f', '-'], { timeoutMs: 10_000, input: nftTable })
        const byNft = await explain(netns, true)
        assert.equal(byNft.verdict, 'drop', 'each base chain decides by itself')
        assert.match(byNft.text, /by table inet fw, chain forwarding: its policy DROP/)
        assert.match(byNft.text, /may decide otherwise: "iifname "lan0" accept"/)
        const networks = { podCidrs: [podCidr], dnsAddresses: [] }
        const findings = (await probeForwarding({ networks, willAccept: true }, netns.run)).map(
          ({ level, what }) => `${level} ${what}`,
        )
        assert.deepEqual(
          findings.map((finding) => finding.slice(0, 60)),
          [
            `ok ufw keeps rules on this node (${where}): it sets the policies of INPUT`,
            `ok Docker keeps rules on this node (${where}): it sets the policy of FOR`,
            // The namespace has no route at all.
            'warn this machine has no IPv4 route to outside: to its own programs cluster IPs',
            `ok ${where}: the policy is DROP, and an agent accepts pods' traffic there`,
            'warn table inet fw, chain forwarding: new connections of pods to pods of other nodes',
          ].map((finding) => finding.slice(0, 60)),
        )
        const refused = findings.at(-1) ?? ''
        assert.match(
          refused,
          /dropped without an answer by its policy DROP\..* may decide otherwise: "iifname "lan0" accept"/,
        )
        assert.ok(
          (await probeForwarding({ networks, willAccept: false }, netns.run)).some(({ level }) => level === 'warn'),
        )
        await writeRuleset(writer, buildRuleset([], { family: 'IPv4', acceptedPods: [podCidr] }).ruleset(), {
          value: 2n,
          count: 1,
        })
        assert.match(
          (await probeForwarding({ networks, willAccept: false }, netns.run)).map(({ what }) => what).join('\n'),
          /PLAT-FORWARD-PODS accepts pods' traffic/,
        )
      }),
  )
}
