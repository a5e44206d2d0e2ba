import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import type { Endpoint, EndpointSlice } from '../../../../src/model/endpoint-slice.ts'
import { flag, recordType } from '../../../../src/node/dns/wire/codes.ts'
import { nameText } from '../../../../src/node/dns/wire/name.ts'
import { reverseName } from '../../../../src/node/dns/wire/reverse-name.ts'
import { anyEvents, type ServiceState } from '../../../helpers/arbitrary-services.ts'
import { recordText, serviceRecords, TestZone } from '../../../helpers/dns-zone.ts'
import { ip, makeEndpoint, makeService, makeSlice } from '../../../helpers/services.ts'

const types = [recordType.A, recordType.AAAA, recordType.SRV, recordType.PTR]

/** Some of the arbitrary Services share their endpoints' addresses and are headless. */
function mixed(state: ServiceState): ServiceState {
  const number = Number(state.service.key.slice(-1))
  const headless = number % 2 === 1
  const slices = state.slices.map((slice) => ({
    ...slice,
    endpoints: slice.endpoints.map((endpoint) => ({
      ...endpoint,
      address: endpoint.address.replace(/^10\.244\.\d/, '10.244.7') as typeof endpoint.address,
    })),
  }))
  return { service: { ...state.service, headless, clusterIps: headless ? [] : state.service.clusterIps }, slices }
}

/** Each name once, although most states share most names. */
function namesOf(states: readonly ServiceState[]): ReadonlySet<string> {
  const names = states.flatMap((state) => {
    const { names, reverse } = serviceRecords(state)
    return [...names.map(({ name }) => name), ...Array.from(reverse.keys(), reverseName)]
  })
  return new Set(names.map((name) => nameText(name)))
}

describe('a zone that follows changes', () => {
  test('answers after any events like a zone made of the last state, and nothing that was removed', () => {
    fc.assert(
      fc.property(anyEvents, (events) => {
        const zone = new TestZone().synced()
        const states = new Map<string, ServiceState>()
        const seen: ServiceState[] = []
        for (const event of events) {
          if (typeof event === 'string') {
            zone.zone.setService(event, undefined)
            states.delete(event)
            continue
          }
          const state = mixed(event)
          seen.push(state)
          zone.add(state)
          states.set(state.service.key, state)
        }
        const fresh = new TestZone().add(...states.values()).synced()
        assert.equal(zone.zone.size, fresh.zone.size)
        for (const name of namesOf(seen)) {
          for (const type of types) assert.equal(zone.line(name, type), fresh.line(name, type), name)
        }
      }),
      { numRuns: 60 },
    )
  })

  test('answers within any limit with whole records, all of them where they fit', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 150 }),
        fc.integer({ min: 512, max: 4096 }),
        fc.boolean(),
        (hosts, limit, rotate) => {
          const zone = new TestZone({}, rotate).add(largeService(hosts)).synced()
          for (const type of [recordType.A, recordType.SRV]) {
            const whole = zone.ask('many.default.svc.cluster.local', type, {})
            const answer = zone.askRaw('many.default.svc.cluster.local', type, { edns: {} }, limit)
            assert.ok(typeof answer !== 'string' && answer.length <= limit)
            const cut = zone.ask('many.default.svc.cluster.local', type, { edns: {} }, limit)
            const all = new Set([...whole.answer, ...whole.additional].map(recordText))
            const kept = [...cut.answer, ...cut.additional].map(recordText)
            assert.equal(new Set(kept).size, kept.length)
            for (const record of kept) assert.ok(all.has(record), record)
            assert.equal((cut.flags & flag.TC) !== 0, kept.length < all.size)
            assert.ok(cut.edns)
          }
        },
      ),
      { numRuns: 60 },
    )
  })
})

function largeService(hosts: number): ServiceState {
  const endpoints = Array.from({ length: hosts }, (_, host) => `10.244.9.${host}`)
  return {
    service: makeService('default/many', '10.96.0.1', { headless: true, clusterIps: [] }),
    slices: [makeSlice('default/many', [['http', 'TCP', 80]], endpoints)],
  }
}

/** Few enough addresses and names that endpoints of several slices share them. */
const anyEndpoint = fc
  .record({
    host: fc.nat(4),
    other: fc.option(fc.nat(4), { nil: undefined }),
    hostname: fc.constantFrom(undefined, undefined, 'a', 'p1', '10-0-0-2'),
    pod: fc.constantFrom(undefined, 'p1', 'p2', 'p3', 'a'),
    ready: fc.constantFrom(true, true, false),
  })
  .map(({ host, other, hostname, pod, ready }) =>
    makeEndpoint(`10.0.0.${host}`, {
      ready,
      ...(other !== undefined && { otherAddresses: [ip(`10.0.0.${other}`)] }),
      ...(hostname !== undefined && { hostname }),
      ...(pod !== undefined && { target: `Pod default/${pod}` }),
    }),
  )

type Edit = (endpoints: readonly Endpoint[]) => readonly Endpoint[]

/** A new list, or a list in which most stays: one endpoint or one of its fields differs, two change places, one comes or goes. */
const anyEdit: fc.Arbitrary<Edit> = fc.oneof(
  fc.array(anyEndpoint, { maxLength: 4 }).map((endpoints) => () => endpoints),
  fc
    .record({
      at: fc.nat(3),
      endpoint: anyEndpoint,
      field: fc.constantFrom('hostname', 'target', 'ready', 'otherAddresses', 'all'),
    })
    .map(
      ({ at, endpoint, field }): Edit =>
        (endpoints) =>
          endpoints.map((each, index) => {
            if (index !== at) return each
            return field === 'all' ? endpoint : { ...each, [field]: endpoint[field] }
          }),
    ),
  fc.tuple(fc.nat(3), fc.nat(3)).map(
    ([from, to]): Edit =>
      (endpoints) => {
        const moved = endpoints.slice(from, from + 1)
        return endpoints.toSpliced(from, 1).toSpliced(to, 0, ...moved)
      },
  ),
  fc.tuple(fc.nat(3), anyEndpoint).map(
    ([at, endpoint]): Edit =>
      (endpoints) =>
        endpoints.toSpliced(at, 0, endpoint),
  ),
  fc.nat(3).map(
    (at): Edit =>
      (endpoints) =>
        endpoints.toSpliced(at, 1),
  ),
)

const anySliceChange: fc.Arbitrary<SliceChange> = fc.record({
  slice: fc.nat(2),
  // Mostly equal, because a slice whose ports differ is planned as a whole.
  port: fc.constantFrom(80, 80, 80, 80, 80, 81),
  portName: fc.constantFrom('http', 'http', 'http', 'http', 'http', ''),
  edit: anyEdit,
  isRemoved: fc.integer({ min: 0, max: 9 }).map((number) => number === 0),
})

interface SliceChange {
  readonly slice: number
  readonly port: number
  readonly portName: string
  readonly edit: Edit
  readonly isRemoved: boolean
}

function applyChange(slices: Map<number, EndpointSlice>, service: string, change: SliceChange): void {
  const { slice, port, portName, edit, isRemoved } = change
  const endpoints = edit(slices.get(slice)?.endpoints ?? [])
  if (isRemoved) slices.delete(slice)
  else slices.set(slice, makeSlice(service, [[portName, 'TCP', port]], endpoints, `${slice}`))
}

describe('a Service of which one slice at a time changes', () => {
  for (const headless of [true, false]) {
    test(`answers like one made of its last slices (${headless ? 'headless' : 'with an address'})`, () => {
      const service = makeService('default/web', '10.96.0.1', { headless, ...(headless && { clusterIps: [] }) })
      fc.assert(
        fc.property(
          fc.array(anySliceChange, { minLength: 4, maxLength: 24 }),
          fc.boolean(),
          (changes, endpointPodNames) => {
            const zone = new TestZone({ endpointPodNames }).synced()
            const slices = new Map<number, EndpointSlice>()
            const seen: ServiceState[] = []
            for (const change of changes) {
              applyChange(slices, service.key, change)
              const state = { service, slices: [...slices].sort(([a], [b]) => a - b).map(([, each]) => each) }
              seen.push(state)
              zone.add(state)
            }
            const fresh = new TestZone({ endpointPodNames }).add(...seen.slice(-1)).synced()
            assert.equal(zone.zone.size, fresh.zone.size)
            for (const name of namesOf(seen)) {
              for (const type of types) assert.equal(zone.line(name, type), fresh.line(name, type), name)
            }
          },
        ),
        { numRuns: 150 },
      )
    })
  }
})
