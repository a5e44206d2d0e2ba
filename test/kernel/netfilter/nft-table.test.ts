import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import type { IpFamily } from '../../../src/model/ip.ts'
import { lowerToElements } from '../../../src/netfilter/nft/lower-elements.ts'
import { renderChange } from '../../../src/netfilter/nft/render-change.ts'
import type { NftChange, SetElement } from '../../../src/netfilter/nft/types.ts'
import { planFrontends } from '../../../src/node/proxy/plan.ts'
import type { ServiceState } from '../../helpers/arbitrary-services.ts'
import { skipReason, type TestNetns, withNetns } from '../../helpers/netns.ts'
import { buildRuleset, type LabRuleset } from '../../helpers/proxy-lab.ts'
import { makePort } from '../../helpers/services.ts'
import { everyKind, settingsOf, stateOf } from './every-kind.ts'
import { endpointPort, manyClients, PacketLab, places } from './packet-lab.ts'

const skip = skipReason('nft', 'conntrack')
const patienceMs = 30_000

/** Every element of Services in the kernel, in the text of nft. */
async function readElements({ run }: TestNetns, { elements: { table } }: LabRuleset): Promise<readonly string[]> {
  const { stdout } = await run('nft', ['list', 'table', table.family === 'IPv4' ? 'ip' : 'ip6', table.name], {
    timeoutMs: 30_000,
  })
  const found: string[] = []
  for (const { name } of table.sets) {
    const block = new RegExp(`\\n\\t(?:set|map) ${name} \\{\\n([^]*?)\\n\\t\\}`)
    const body = block.exec(stdout)?.[1] ?? assert.fail(name)
    const listed = /elements = \{([^}]*)\}/.exec(body)?.[1]?.split(',') ?? []
    found.push(...listed.map((element) => `${name} ${element.trim()}`))
  }
  return found.sort()
}

function textOf({ set, key, data }: SetElement): string {
  return `${set} ${key}${data === '' ? '' : ` : ${data}`}`
}

for (const family of ['IPv4', 'IPv6'] as const) {
  test(
    `the kernel holds what was written for every kind of Service, and keeps it under other rules (${family})`,
    { skip, timeout: 60_000 },
    () =>
      withNetns(async (lab) => {
        const netns = await lab.create()
        const nft = (input: string) => netns.run('nft', ['-f', '-'], { timeoutMs: 30_000, input })
        const ruleset = buildRuleset([...everyKind(family).values()], settingsOf(family))
        const { elements } = ruleset
        const wanted = [...elements.all()].map(textOf).sort()
        const state = { version: elements.table.version, objects: 'ab', listing: 'cd' }
        const change = { service: undefined, remove: [], add: [...elements.all()] }
        await nft(elements.table.text + renderChange(elements.table, [change], state))
        assert.deepEqual(await readElements(netns, ruleset), wanted)

        elements.configure({
          ...settingsOf(family),
          masqueradeBit: 7,
          affinity: { form: 'recent', isHard: true },
          nodePortAddresses: [],
        })
        const { table } = elements.update(new Map())
        assert.ok(table)
        const target = `${family === 'IPv4' ? 'ip' : 'ip6'} platnet`
        await nft(`add table ${target}\nflush table ${target}\n${table.text}${renderChange(table, [], state)}`)
        assert.deepEqual(await readElements(netns, ruleset), wanted)
        assert.match(await netns.exec('nft', 'list', 'ruleset'), /meta mark set meta mark \| 0x0*80\b/)
      }),
  )
}

describe('connections through the table', { concurrency: 2 }, () => {
  for (const family of ['IPv4', 'IPv6'] as const) {
    const place = places[family]
    const sources =
      family === 'IPv4'
        ? Array.from({ length: 300 }, (_, n) => manyClients(n + 1))
        : Array.from({ length: 300 }, () => place.client)
    const probesTo = (destination: string) =>
      sources.map((source) => ({ source, destination, port: 80, protocol: 'TCP' as const, patienceMs }))

    test(
      `are spread evenly, also as endpoints come and go, and an endpoint reaches itself (${family})`,
      { skip, timeout: 120_000 },
      () =>
        withNetns(async (netns) => {
          const lab = await PacketLab.build(netns, 'nft', { nodePorts: [], onLoopback: [] })
          const hosts = [place.local(1), place.local(2), place.remote(1)]
          const ruleset = buildRuleset([stateOf(1, family, hosts)], settingsOf(family))
          await lab.installElements(ruleset.elements)
          const shares = async () => countBy(await lab.probe('client', probesTo(place.clusterIp(1))))
          // Each share of 300 is 100 with a deviation of 8.2.
          assertEven(await shares(), 3, [55, 145])
          await write(lab, updateTo(ruleset, stateOf(1, family, [...hosts, place.remote(2), place.remote(3)])))
          assertEven(await shares(), 5, [25, 95])
          await write(lab, updateTo(ruleset, stateOf(1, family, [place.local(1)])))
          assertEven(await shares(), 1, [300, 300])
          const self = {
            source: place.local(1),
            destination: place.clusterIp(1),
            port: 80,
            protocol: 'TCP' as const,
            patienceMs,
          }
          const [answer = ''] = await lab.probe('endpoint', [self])
          assert.match(answer, /^local /)
          assert.ok(
            !answer.endsWith(` ${place.local(1)}`),
            `${answer}: its own address would be answered past the node`,
          )
        }),
    )

    test(`of one client come back to its endpoint until that is gone (${family})`, { skip, timeout: 120_000 }, () =>
      withNetns(async (netns) => {
        const lab = await PacketLab.build(netns, 'nft', { nodePorts: [], onLoopback: [] })
        const hosts = [place.local(1), place.local(2), place.remote(1)]
        const affinity = { affinity: { timeoutSeconds: 600 } }
        const ruleset = buildRuleset([stateOf(1, family, hosts, affinity)], settingsOf(family))
        await lab.installElements(ruleset.elements)
        const ask = async () => {
          await lab.forgetConnections()
          return lab.probe('client', probesTo(place.clusterIp(1)))
        }
        const first = await ask()
        if (family === 'IPv4') assert.equal(countBy(first).size, 3, 'every endpoint has clients')
        else assert.equal(countBy(first).size, 1)
        assert.deepEqual(await ask(), first)
        const [gone = ''] = hosts.filter((host) => first[0]?.includes(` ${host}:${endpointPort} `))
        const left = hosts.filter((host) => host !== gone)
        await write(lab, updateTo(ruleset, stateOf(1, family, left, affinity)))
        const second = await ask()
        const lost = first.filter((answer) => isFrom(answer, [gone]))
        const kept = first.filter((answer, index) => answer === second[index])
        assert.ok(lost.length > 0)
        assert.equal(kept.length, first.length - lost.length, 'all others keep their endpoint')
        assert.ok(second.every((answer) => isFrom(answer, left)))
        assert.deepEqual(await ask(), second)
      }),
    )
  }
})

for (const family of ['IPv4', 'IPv6'] as const) {
  test(
    `a client that comes again begins its time anew, but not where the timeout is hard (${family})`,
    { skip, timeout: 60_000 },
    () =>
      withNetns(async (netns) => {
        const lab = await PacketLab.build(netns, 'nft', { nodePorts: [], onLoopback: [] })
        const { client, clusterIp, local } = places[family]
        const state = stateOf(1, family, [local(1), local(2)], {
          ports: [makePort('main', 'UDP', 80)],
          affinity: { timeoutSeconds: 50 },
        })
        const probe = { source: client, destination: clusterIp(1), port: 80, protocol: 'UDP' as const, patienceMs }
        for (const isHard of [false, true]) {
          const { elements } = buildRuleset([state], { ...settingsOf(family), affinity: { form: 'recent', isHard } })
          await lab.installElements(elements)
          const first = await lab.probe('client', [probe])
          assert.match(first[0] ?? '', /^local /)
          await setTimeout(400)
          const before = await remainingMs(lab.node, elements.table.family)
          await lab.forgetConnections()
          assert.deepEqual(await lab.probe('client', [probe]), first)
          const after = await remainingMs(lab.node, elements.table.family)
          assert.equal(after > before, !isHard, `${before} ms, then ${after} ms`)
        }
      }),
  )
}

/** How long the kernel remembers the one client. */
async function remainingMs({ exec }: TestNetns, family: IpFamily): Promise<number> {
  const listed = await exec('nft', 'list', 'map', family === 'IPv4' ? 'ip' : 'ip6', 'platnet', 'clients')
  const [, seconds = '0', milliseconds = '0'] = /expires (?:(\d+)s)?(?:(\d+)ms)? :/.exec(listed) ?? assert.fail(listed)
  return Number(seconds) * 1000 + Number(milliseconds)
}

function isFrom(answer: string, hosts: readonly string[]): boolean {
  return hosts.some((host) => answer.includes(` ${host}:${endpointPort} `))
}

function updateTo({ elements, settings }: LabRuleset, { service, slices }: ServiceState): LabChange {
  const frontends = planFrontends(service, slices, { nodeName: 'node-a', family: settings.family })
  return { ...elements.update(new Map([[service.key, lowerToElements(frontends, settings)]])), elements }
}

type LabChange = NftChange & Pick<LabRuleset, 'elements'>

async function write(lab: PacketLab, { changes, elements }: LabChange): Promise<void> {
  await lab.nft(renderChange(elements.table, changes))
  await lab.forgetConnections()
}

/** How many of the answers came from each endpoint. */
function countBy(answers: readonly string[]): ReadonlyMap<string, number> {
  const endpoints = answers.map((answer) => answer.split(' ')[1] ?? '')
  return new Map([...Map.groupBy(endpoints, (each) => each)].map(([endpoint, all]) => [endpoint, all.length]))
}

function assertEven(
  shares: ReadonlyMap<string, number>,
  count: number,
  [least, most]: readonly [number, number],
): void {
  assert.equal(shares.size, count, JSON.stringify([...shares]))
  for (const share of shares.values()) assert.ok(share >= least && share <= most, JSON.stringify([...shares]))
}
