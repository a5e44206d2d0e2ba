import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { ProxyRuleSettings } from '../../../../src/netfilter/settings.ts'
import { tracePacket } from '../../../../src/netfilter/trace/trace-packet.ts'
import { buildRuleset, describeTrace, firstPacket, worldOf } from '../../../helpers/proxy-lab.ts'
import { cidr, ip, makePort, makeService, makeSlice } from '../../../helpers/services.ts'

const settings: ProxyRuleSettings = { family: 'IPv4', localTraffic: { kind: 'source', cidr: cidr('10.244.0.0/16') } }
const web = makeService('default/web', '10.96.0.10', { ports: [makePort('http', 'TCP', 80, 30080)] })
const endpoints = ['10.244.0.1', '10.244.0.2', '10.244.0.3']
const slices = [makeSlice('default/web', [['http', 'TCP', 8080]], endpoints)]
const world = worldOf(buildRuleset([{ service: web, slices }], settings), ['192.0.2.1'])
const empty = worldOf(buildRuleset([{ service: web, slices: [] }], settings), ['192.0.2.1'])

describe('a trace', () => {
  test('names every endpoint with its share, and the rules that led there', () => {
    const outcomes = tracePacket(firstPacket('10.244.0.9', '10.96.0.10', 80), world)
    assert.deepEqual(
      outcomes.map(({ endpoint }) => endpoint?.address),
      endpoints,
    )
    for (const { probability } of outcomes) assert.ok(Math.abs(probability - 1 / 3) < 1e-9)
    assert.deepEqual(
      outcomes[0]?.rules.map(({ table, chain, position }) => `${table} ${chain.slice(0, 13)} ${position}`),
      [
        'nat PLAT-SERVICES 1',
        'nat PLAT-SVC-FTBB 2',
        'nat PLAT-SEP-HTZW 2',
        'filter PLAT-SERVICES 1',
        'nat PLAT-POSTROUT 1',
      ],
    )
  })

  test('tells who is masqueraded', () => {
    assert.equal(describeTrace(firstPacket('10.244.0.1', '10.96.0.10', 80), world).includes('0.1:8080 masq'), true)
    assert.match(
      describeTrace(firstPacket('203.0.113.1', '192.0.2.1', 30080), world),
      /^(\S+:8080 masqueraded( \| )?){3}$/,
    )
  })

  test('of a Service without endpoints ends with the rule that refuses it', () => {
    const [outcome, ...others] = tracePacket(firstPacket('10.244.0.1', '10.96.0.10', 80), empty)
    assert.equal(outcome?.verdict, 'reject')
    assert.equal(outcome?.rules.at(-1)?.rule.comment, 'default/web:http has no endpoints')
    assert.deepEqual(others, [])
    assert.equal(describeTrace(firstPacket('203.0.113.1', '192.0.2.1', 30080), empty), 'reject')
    const local = firstPacket('192.0.2.1', '192.0.2.1', 30080, { origin: 'this-node' })
    assert.equal(describeTrace(local, empty), 'reject')
  })

  test('leaves alone what is no Service, another protocol, or not the first packet', () => {
    for (const packet of [
      firstPacket('10.244.0.1', '10.96.0.10', 81),
      firstPacket('10.244.0.1', '10.96.0.11', 80),
      firstPacket('10.244.0.1', '10.96.0.10', 80, { protocol: 'UDP' }),
      firstPacket('10.244.0.1', '10.96.0.10', 80, { state: 'ESTABLISHED' }),
      firstPacket('203.0.113.1', '127.0.0.1', 30080),
      firstPacket('203.0.113.1', '192.0.2.2', 30080),
    ])
      assert.equal(describeTrace(packet, world), 'untouched', JSON.stringify(packet))
  })

  test('drops a forwarded packet that conntrack cannot place, and no other', () => {
    const lost = firstPacket('10.244.0.1', '10.244.3.1', 80, { state: 'INVALID' })
    assert.equal(describeTrace(lost, world), 'drop')
    assert.equal(describeTrace({ ...lost, destination: ip('192.0.2.1') }, world), 'untouched')
    assert.equal(describeTrace({ ...lost, source: ip('192.0.2.1'), origin: 'this-node' }, world), 'untouched')
    const liberal = worldOf(buildRuleset([], { ...settings, dropInvalid: false }), [])
    assert.equal(describeTrace(lost, liberal), 'untouched')
  })

  test('sends a client whom the Service remembers where it was', () => {
    const sticky = { ...web, affinity: { timeoutSeconds: 60 } }
    for (const form of ['recent', 'ipset'] as const) {
      const rules = buildRuleset([{ service: sticky, slices }], { ...settings, affinity: { form, isHard: false } })
      const fresh = worldOf(rules, [])
      const packet = firstPacket('10.244.0.9', '10.96.0.10', 80)
      const [first] = tracePacket(packet, fresh)
      const list = first?.rules.find(({ chain }) => chain.startsWith('PLAT-SEP-'))?.chain
      const [again, ...others] = tracePacket(packet, { ...fresh, remembers: (name) => name === list })
      assert.deepEqual([again?.endpoint, again?.probability, others], [first?.endpoint, 1, []])
    }
  })
})
