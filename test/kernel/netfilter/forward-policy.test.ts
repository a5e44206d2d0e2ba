import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { IpFamily } from '../../../src/model/ip.ts'
import type { ProxyRuleSettings } from '../../../src/netfilter/settings.ts'
import { skipReason, withNetns } from '../../helpers/netns.ts'
import { buildRuleset } from '../../helpers/proxy-lab.ts'
import { cidr, makeEndpoint, makePort, makeService, makeSlice } from '../../helpers/services.ts'
import { endpointPort, PacketLab, places } from './packet-lab.ts'

const nodePort = 30080

function rulesOf(family: IpFamily, isAccepted: boolean) {
  const place = places[family]
  const podCidr = cidr(place.podCidr)
  const settings: ProxyRuleSettings = {
    family,
    localTraffic: { kind: 'source', cidr: podCidr },
    ...(isAccepted && { acceptedPods: [podCidr] }),
  }
  const slice = (key: string, address: string, nodeName: string) =>
    makeSlice(key, [['http', 'TCP', endpointPort]], [makeEndpoint(address, { nodeName })])
  const web = makeService('default/web', place.clusterIp(1), { ports: [makePort('http', 'TCP', 80, nodePort)] })
  const local = makeService('default/local', place.clusterIp(2), {
    ports: [makePort('http', 'TCP', 80, nodePort + 1)],
    externalTrafficPolicy: 'Local',
  })
  const empty = makeService('default/empty', place.clusterIp(3), { ports: [makePort('http', 'TCP', 80)] })
  return buildRuleset(
    [
      { service: web, slices: [slice('default/web', place.remote(1), 'node-b')] },
      { service: local, slices: [slice('default/local', place.local(1), 'node-a')] },
      { service: empty, slices: [] },
    ],
    settings,
  ).ruleset()
}

/** As Docker and ufw leave the chain. */
const ofOthers = `*filter
:DOCKER-USER - [0:0]
:ufw-before-forward - [0:0]
-A DOCKER-USER -j RETURN
-A ufw-before-forward -p tcp -m conntrack --ctstate NEW -j DROP
-A FORWARD -j DOCKER-USER
-A FORWARD -j ufw-before-forward
COMMIT
`

for (const flavour of ['nft', 'legacy'] as const) {
  const title = `pods are reached and reach others where the policy of FORWARD is DROP, and nothing else passes (iptables-${flavour})`
  const skip = skipReason(`iptables-${flavour}`, 'conntrack', 'ipset')
  test(title, { skip, timeout: 120_000 }, () =>
    withNetns(async (lab) => {
      const packets = await PacketLab.build(lab, flavour, { nodePorts: [], onLoopback: [] })
      for (const family of ['IPv4', 'IPv6'] as const) {
        const place = places[family]
        const program = `${family === 'IPv4' ? 'iptables' : 'ip6tables'}-${flavour}`
        const ask = async (sender: 'pod' | 'client', destination: string, port: number, patienceMs = 5000) => {
          const probe = { source: place[sender], destination, port, protocol: 'TCP', patienceMs } as const
          return (await packets.probe(sender, [probe]))[0] ?? ''
        }
        const install = async (isAccepted: boolean) => {
          await packets.install(family, rulesOf(family, isAccepted))
          await packets.node.exec(program, '-P', 'FORWARD', 'DROP')
          await packets.node.run(`${program}-restore`, ['--noflush'], { timeoutMs: 30_000, input: ofOthers })
        }
        await install(false)
        assert.equal(await ask('pod', place.remote(1), endpointPort, 500), 'silence', 'the policy is at work')
        await install(true)
        const answered = { pod: `seen from ${place.pod}`, client: `seen from ${place.client}` }
        assert.match(await ask('pod', place.remote(1), endpointPort), new RegExp(answered.pod), 'pod to pod elsewhere')
        assert.match(await ask('pod', place.clusterIp(1), 80), new RegExp(answered.pod), 'pod to Service')
        assert.match(await ask('client', place.node, nodePort), /^remote /, 'node port, policy Cluster')
        assert.match(
          await ask('client', place.node, nodePort + 1),
          new RegExp(`^local .*${answered.client}`),
          'node port, policy Local',
        )
        assert.match(await ask('client', place.local(1), endpointPort), new RegExp(answered.client), 'outside to pod')
        assert.equal(await ask('pod', place.clusterIp(3), 80), 'refused', 'verdicts on Services come first')
        assert.equal(
          await ask('client', place.clusterIp(9), 80, 500),
          'silence',
          'what is no traffic of pods is left to others',
        )
      }
    }),
  )
}
