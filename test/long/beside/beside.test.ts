import assert from 'node:assert/strict'
import { createInterface } from 'node:readline'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { NftMonitor } from '../../../src/host/index.ts'
import type { ProxyRuleSettings } from '../../../src/netfilter/settings.ts'
import { DriftWatch, probeForwarding, type RulesWriter } from '../../../src/node/rules/index.ts'
import { silentLogger } from '../../../src/observe/index.ts'
import { ipOf } from '../../helpers/addresses.ts'
import { type TestNetns, withNetns } from '../../helpers/netns.ts'
import { buildRuleset } from '../../helpers/proxy-lab.ts'
import { writeRuleset } from '../../helpers/rulesets.ts'
import { cidr, makeEndpoint, makePort, makeService, makeSlice } from '../../helpers/services.ts'
import { untilAsync } from '../../helpers/until.ts'
import { endpointPort, PacketLab, places } from '../../kernel/netfilter/packet-lab.ts'
import { hashOf, makeWriter } from '../../kernel/node/rules/rules-fixture.ts'
import { NeighbourShell, whyNot } from './neighbour.ts'
import { type Journey, type NeighbourProgram, programs } from './programs.ts'

const place = places.IPv4
const [nodePort, dns, podCidr] = [30080, '10.96.0.10', cidr(place.podCidr)]
const scope = { signal: AbortSignal.timeout(600_000) }
const patienceMs = 1500

function ourRules(accepts: boolean) {
  const slice = makeSlice('default/web', [['http', 'TCP', endpointPort]], [makeEndpoint(place.remote(1))])
  const web = makeService('default/web', place.clusterIp(1), { ports: [makePort('http', 'TCP', 80, nodePort)] })
  const settings: ProxyRuleSettings = {
    family: 'IPv4',
    localTraffic: { kind: 'source', cidr: podCidr },
    ...(accepts && { acceptedPods: [podCidr] }),
  }
  return buildRuleset([{ service: web, slices: [slice] }], settings).ruleset()
}

interface Ours {
  readonly writer: RulesWriter
  stop(): Promise<void>
}

/** Our rules with the watch that repairs them. */
async function startOurs(node: TestNetns, accepts: boolean): Promise<Ours> {
  const writer = await makeWriter(node, 'nft', { verifyIntervalMs: 3_600_000 })
  const monitor = new NftMonitor(silentLogger, node.start)
  monitor.subscribe(new DriftWatch({ family: 'IPv4', writer, log: silentLogger }))
  await writer.start(scope)
  await writeRuleset(writer, ourRules(accepts), hashOf('beside'))
  await monitor.start()
  const stop = async (): Promise<void> => {
    await monitor.stop(scope)
    await writer.stop(scope)
  }
  return { writer, stop }
}

async function answerDns(node: TestNetns): Promise<void> {
  const file = fileURLToPath(new URL('../../kernel/netfilter/answer.program.ts', import.meta.url))
  const listeners = JSON.stringify({ udp: [[dns, 53]] })
  const program = await node.start(process.execPath, [file, 'dns', listeners], { stdout: 'pipe', stderr: 'inherit' })
  for await (const line of createInterface({ input: program.stdout ?? assert.fail() })) if (line === 'ready') return
}

/** `pass`, or what there was in its place, for each journey. */
async function travel(packets: PacketLab): Promise<Readonly<Record<string, string>>> {
  const tcp = { protocol: 'TCP', patienceMs } as const
  const fromPod = { ...tcp, source: place.pod }
  const [toPod, toService, toDns] = await packets.probe('pod', [
    { ...fromPod, destination: place.remote(1), port: endpointPort },
    { ...fromPod, destination: place.clusterIp(1), port: 80 },
    { ...fromPod, destination: dns, port: 53, protocol: 'UDP' },
  ])
  const fromClient = { ...tcp, source: place.client }
  const [toNodePort] = await packets.probe('client', [{ ...fromClient, destination: place.node, port: nodePort }])
  const seen = { 'pod to pod': toPod, 'pod to Service': toService, DNS: toDns, 'node port': toNodePort }
  return Object.fromEntries(
    Object.entries(seen).map(([what, answer = '']) => [what, /^(remote|dns) /.test(answer) ? 'pass' : answer]),
  )
}

async function refusedOf(packets: PacketLab): Promise<readonly string[]> {
  return Object.entries(await travel(packets)).flatMap(([what, answer]) => (answer === 'pass' ? [] : [what]))
}

/** Our jumps stand at the top of FORWARD and nat PREROUTING. */
async function areOursInPlace(node: TestNetns): Promise<boolean> {
  const rules = async (...args: string[]) => (await node.exec('iptables-nft', ...args)).split('\n').slice(1)
  const forward = (await rules('-S', 'FORWARD')).slice(0, 4)
  const [prerouting] = await rules('-t', 'nat', '-S', 'PREROUTING')
  return [...forward, prerouting ?? ''].every((rule) => rule.includes('-j PLAT-'))
}

/** Every rule that is not ours, of all tables. */
async function rulesOfOthers(node: TestNetns): Promise<readonly string[]> {
  const listed = await node.exec('nft', '--stateless', 'list', 'ruleset')
  const chains = listed.split('\n\tchain ').filter((chain) => !chain.startsWith('PLAT-'))
  return chains.flatMap((chain) => chain.split('\n').filter((line) => line.includes('\t') && !line.includes('PLAT-')))
}

function findings(node: TestNetns) {
  const networks = { podCidrs: [podCidr], dnsAddresses: [ipOf(dns)], podLink: 'cni0' }
  return probeForwarding({ networks, willAccept: false }, node.run)
}

/** Of each hook there is one finding. */
function hooksOf(refused: readonly Journey[]): number {
  return new Set(refused.map((journey) => journey === 'DNS')).size
}

async function useGuest({ guest }: NeighbourProgram, shell: NeighbourShell, packets: PacketLab): Promise<void> {
  if (guest === undefined) return
  await shell.run(guest.start)
  const published = { source: place.client, destination: place.node, port: 8088, protocol: 'TCP', patienceMs } as const
  if (guest.publishes)
    await untilAsync(
      'its published port answers',
      async () => /from-guest/.test((await packets.probe('client', [published]))[0] ?? ''),
      20_000,
    )
  assert.match(await shell.run(guest.ask('192.0.2.254', 80)), /"name":"sink"/, 'its container reaches outside')
  assert.match(await shell.run(guest.ask(place.clusterIp(1), 80)), /"name":"remote"/, 'and a Service of ours')
}

for (const program of programs)
  for (const order of ['ours first', 'theirs first', 'theirs first, pods of another network'] as const) {
    const title = `beside ${program.name}, ${order}: both kinds of traffic flow, check names what is refused, and its remedy works`
    test(title, { skip: whyNot(program.file), timeout: 180_000 }, () =>
      withNetns(async (lab) => {
        const packets = await PacketLab.build(lab, 'nft', { nodePorts: [], onLoopback: [dns] })
        const { node } = packets
        await answerDns(node)
        const shell = await NeighbourShell.start(node)
        const accepts = order !== 'theirs first, pods of another network'
        const refused = accepts ? program.refused : program.refusedUnaccepted
        if (order !== 'ours first') await shell.run(program.start)
        const ours = await startOurs(node, accepts)
        try {
          if (order === 'ours first') await shell.run(program.start)
          await untilAsync('our rules stand at the top', () => areOursInPlace(node), 15_000)
          await useGuest(program, shell, packets)
          assert.deepEqual(await refusedOf(packets), refused, 'what is refused before the remedy')

          const found = await findings(node)
          assert.ok(found.some(({ what }) => what.startsWith(`${program.name} keeps rules on this node`)))
          const warnings = found.filter(({ level }) => level === 'warn')
          assert.equal(warnings.length, hooksOf(refused), JSON.stringify(found))
          for (const { what, remedy = '' } of warnings) {
            assert.match(what, new RegExp(`It is a rule of ${program.name}\\.`))
            await shell.run(remedy)
          }
          await untilAsync('our rules stand again', () => areOursInPlace(node), 15_000)
          assert.deepEqual(await refusedOf(packets), [], 'the remedy that check names lets it pass')
          assert.deepEqual(
            (await findings(node)).filter(({ level }) => level === 'warn'),
            [],
          )

          await shell.run(program.reload)
          await untilAsync('our rules stand after its reload', () => areOursInPlace(node), 15_000)
          assert.deepEqual(await refusedOf(packets), [], 'after its reload')
          const before = await rulesOfOthers(node)
          await node.exec('iptables-nft', '-D', 'FORWARD', '1')
          await ours.writer.verify()
          assert.ok(await areOursInPlace(node))
          assert.deepEqual(await rulesOfOthers(node), before, 'our repair leaves its rules alone')
        } finally {
          await shell.run(program.stop ?? 'true').catch(() => '')
          await ours.stop()
        }
      }),
    )
  }
