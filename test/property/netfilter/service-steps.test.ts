import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { orderCommits } from '../../../src/netfilter/commit-order.ts'
import { countSize, ruleCount } from '../../../src/netfilter/count-size.ts'
import type { Frontend } from '../../../src/netfilter/frontend.ts'
import { lowerService, type ServiceRules } from '../../../src/netfilter/lower-service.ts'
import type { Ruleset } from '../../../src/netfilter/ruleset.ts'
import { countLines, noServiceRules, stepsBetween } from '../../../src/netfilter/service-steps.ts'
import type { ProxyRuleSettings } from '../../../src/netfilter/settings.ts'
import { targetsOf } from '../../../src/netfilter/target-order.ts'
import { tracePacket } from '../../../src/netfilter/trace/trace-packet.ts'
import type { TracedPacket, TraceOutcome } from '../../../src/netfilter/trace/types.ts'
import { planFrontends } from '../../../src/node/proxy/plan.ts'
import { firstPacket, rulesWorldOf } from '../../helpers/proxy-lab.ts'
import { applyChanges, diffRulesets, TestRuleset } from '../../helpers/rulesets.ts'
import { cidr, ip, makeEndpoint, makePort, makeService, makeSlice } from '../../helpers/services.ts'

const settings: ProxyRuleSettings = { family: 'IPv4', localTraffic: { kind: 'source', cidr: cidr('10.244.0.0/16') } }
const key = 'default/web'
const ports = [makePort('a', 'TCP', 80, 30080), makePort('b', 'TCP', 81)]
const policy = fc.constantFrom('Cluster', 'Local')

/** One Service in any state that its rules depend on. */
const anyFrontends: fc.Arbitrary<readonly Frontend[]> = fc
  .record({
    ports: fc.subarray(ports, { minLength: 1 }),
    hosts: fc.uniqueArray(fc.nat(4)),
    affinity: fc.constantFrom({}, { affinity: { timeoutSeconds: 60 } }),
    externalTrafficPolicy: policy,
    internalTrafficPolicy: policy,
    loadBalancerVips: fc.subarray([ip('198.51.100.1')]),
    externalIps: fc.subarray([ip('198.51.100.2')]),
    ranges: fc.constantFrom({}, { sourceRanges: [cidr('203.0.113.0/24')] }, { sourceRanges: [] }),
  })
  .map(({ hosts, affinity, ranges, ...details }) => {
    const service = makeService(key, '10.96.0.1', { ...details, ...affinity, ...ranges })
    const endpoints = hosts.map((host) =>
      makeEndpoint(`10.244.0.${host}`, { nodeName: host % 2 ? 'node-a' : 'node-b' }),
    )
    const served = ports.map(({ name }) => [name, 'TCP', 8080] as const)
    return planFrontends(service, [makeSlice(key, served, endpoints)], { nodeName: 'node-a', family: 'IPv4' })
  })

const anyRules = fc.oneof(
  { weight: 5, arbitrary: anyFrontends.map((frontends) => lowerService(frontends, settings)) },
  { weight: 1, arbitrary: fc.constant(noServiceRules) },
)

const probes: readonly TracedPacket[] = ['10.244.0.9', '203.0.113.5'].flatMap((source) =>
  ['10.96.0.1', '198.51.100.1', '198.51.100.2', '192.0.2.1'].flatMap((destination) =>
    ports.map(({ port, nodePort }) =>
      firstPacket(source, destination, destination === '192.0.2.1' ? (nodePort ?? port) : port),
    ),
  ),
)

test('on the way from one state of a Service to another no packet is lost, and none passes untranslated', () => {
  fc.assert(
    fc.property(anyRules, anyRules, fc.integer({ min: 1, max: 20 }), (before, after, maxLines) => {
      const fates = [before, after].map((rules) => probes.map((probe) => fateOf(probe, rulesetOf(rules))))
      const known = new Set([before, after].flatMap(endpointsOf))
      let held = rulesetOf(before)
      for (const step of stepsBetween(before, after, () => maxLines)) {
        const next = rulesetOf(step)
        for (const commit of orderCommits(held, diffRulesets(held, next))) {
          held = applyChanges(held, [commit])
          for (const [index, probe] of probes.entries()) {
            const [first, last] = [fates[0]?.[index], fates[1]?.[index]]
            assert.ok(first && last)
            checkFate(fateOf(probe, held), first, last, known, `${probe.source} to ${probe.destination}:${probe.port}`)
          }
        }
      }
      assert.deepEqual(diffRulesets(held, rulesetOf(after)), [], 'the last step is the wanted state')
    }),
    { numRuns: 60 },
  )
})

test('a step is no larger than asked, but for a single chain, and names no chain or set that is not there', () => {
  fc.assert(
    fc.property(anyRules, anyRules, fc.integer({ min: 20, max: 60 }), (before, after, maxLines) => {
      let held = before
      for (const step of stepsBetween(before, after, () => maxLines)) {
        const isMore = step.dispatch !== held.dispatch
        assert.ok(isMore || countLines(held, step) <= maxLines + 60, `${countLines(held, step)} lines`)
        assert.deepEqual(missingTargets(step), [], 'what a chain leads to stands before it')
        held = step
      }
    }),
  )
})

test('no Service has more rules than are counted before they are made, nor many fewer', () => {
  fc.assert(
    fc.property(anyFrontends, (frontends) => {
      const { chains, dispatch } = lowerService(frontends, settings)
      const made = [...chains.values(), ...Object.values(dispatch)].reduce((sum, rules) => sum + rules.length, 0)
      const lists = frontends.some(({ affinity }) => affinity)
        ? [...chains.keys()].filter((name) => name.startsWith('PLAT-SEP-'))
        : []
      const counted = countSize(ruleCount, frontends, settings)
      assert.ok(made + 10 * lists.length <= counted, `${made} made, ${counted} counted`)
      assert.ok(counted <= made + 10 * lists.length + 16 * frontends.length + 40, `${made} made, ${counted} counted`)
    }),
  )
})

const world = rulesWorldOf(new TestRuleset(settings), ['192.0.2.1'])

interface Fate {
  readonly endpoints: ReadonlySet<string>
  readonly isRefused: boolean
  readonly isUntouched: boolean
}

function fateOf(packet: TracedPacket, rules: Ruleset): Fate {
  const outcomes: readonly TraceOutcome[] = tracePacket(packet, { ...world, ruleset: rules })
  const accepted = outcomes.filter(({ verdict }) => verdict === 'accept')
  return {
    endpoints: new Set(accepted.flatMap(({ endpoint }) => (endpoint ? [`${endpoint.address}:${endpoint.port}`] : []))),
    isRefused: outcomes.some(({ verdict }) => verdict !== 'accept'),
    isUntouched: accepted.some(({ endpoint }) => endpoint === undefined),
  }
}

/** Where policy and endpoints change at once, a packet may go to any endpoint of either state for a moment, by the one policy or the other. */
function checkFate(fate: Fate, first: Fate, last: Fate, known: ReadonlySet<string>, what: string): void {
  assert.ok(fate.endpoints.isSubsetOf(known), `${what} goes to ${[...fate.endpoints]}`)
  assert.ok(!fate.isUntouched || first.isUntouched || last.isUntouched, `${what} passes untranslated`)
  const isServed = ({ endpoints, isRefused }: Fate) => endpoints.size > 0 && !isRefused
  assert.ok(!fate.isRefused || !isServed(first) || !isServed(last), `${what} is refused in between`)
}

function missingTargets({ chains }: ServiceRules): readonly string[] {
  const targets = new Set([...chains.values()].flatMap(targetsOf))
  return [...targets].filter((name) => name !== 'PLAT-MARK-MASQ' && !chains.has(name))
}

function endpointsOf({ chains }: ServiceRules): readonly string[] {
  const targets = [...chains.values()].flat().map(({ target }) => target)
  return targets.flatMap((target) => (target?.kind === 'dnat' ? [`${target.address}:${target.port}`] : []))
}

/** Making one anew takes milliseconds. */
const all = new TestRuleset(settings)

function rulesetOf(rules: ServiceRules): Ruleset {
  all.update(new Map([[key, rules]]))
  const { nat, filter } = all.ruleset()
  return { nat: new Map(nat), filter: new Map(filter) }
}
