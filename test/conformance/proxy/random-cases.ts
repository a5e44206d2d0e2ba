import fc from 'fast-check'
import {
  type Case,
  type Conditions,
  type EndpointWish,
  going,
  gone,
  nodeName,
  type PortWish,
  unready,
} from './cluster.ts'
import type { RandomCluster } from './settings.ts'

const anyConditions = fc.constantFrom<(Conditions | undefined)[]>(undefined, undefined, undefined, going, gone, unready)
const anyPolicy = fc.constantFrom('Cluster', 'Cluster', 'Local')
const anyProtocol = fc.constantFrom<PortWish['protocol'][]>('TCP', 'TCP', 'UDP', 'SCTP')

const zoneHints = ['zone-a', 'zone-b'].map((name) => ({ forZones: [{ name }] }))
const nodeHints = [nodeName, 'node-b'].map((name) => ({ forNodes: [{ name }] }))
/** Most Services have none; where they have, an endpoint may lack them. */
const anyHints = fc.constantFrom<(readonly (object | undefined)[])[]>(
  [undefined],
  [undefined],
  zoneHints,
  [...zoneHints, undefined],
  nodeHints,
  zoneHints.flatMap((zone) => nodeHints.map((node) => ({ ...zone, ...node }))),
)

const anyPorts: fc.Arbitrary<readonly PortWish[]> = fc.oneof(
  { weight: 2, arbitrary: anyProtocol.map((protocol) => [{ name: '', port: 80, protocol, isServed: true }]) },
  {
    weight: 3,
    arbitrary: fc
      .tuple(anyProtocol, anyProtocol, fc.constantFrom(true, true, false))
      .map(([first, second, isServed]) => [
        { name: 'main', port: 80, protocol: first, isServed: true },
        { name: 'other', port: 81, protocol: second, isServed },
      ]),
  },
)

/** Three at most, in two slices. None stands in both: which of them counts is chance with kube-proxy (src/node/proxy/README.md). */
const anyEndpoints: fc.Arbitrary<readonly EndpointWish[]> = fc
  .record({
    at: fc.subarray<EndpointWish['at']>(['L1', 'L2', 'R1', 'R2'], { maxLength: 3 }),
    conditions: fc.tuple(anyConditions, anyConditions, anyConditions),
    slices: fc.tuple(fc.nat(1), fc.nat(1), fc.nat(1)),
    hints: anyHints,
    picks: fc.tuple(fc.nat(3), fc.nat(3), fc.nat(3)),
  })
  .map(({ at, conditions, slices, hints, picks }) =>
    at.map((place, index): EndpointWish => {
      const hint = hints[(picks[index] ?? 0) % hints.length]
      const wished = conditions[index]
      return {
        at: place,
        slice: slices[index] ?? 0,
        ...(wished && { conditions: wished }),
        ...(hint && { hints: hint }),
      }
    }),
  )

const anyCase: fc.Arbitrary<Omit<Case, 'title'>> = fc
  .record({
    type: fc.constantFrom<NonNullable<Case['type']>[]>('ClusterIP', 'NodePort', 'LoadBalancer', 'LoadBalancer'),
    families: fc.constantFrom<NonNullable<Case['families']>[]>(['IPv4', 'IPv6'], ['IPv6', 'IPv4'], ['IPv4'], ['IPv6']),
    ports: anyPorts,
    ipMode: fc.constantFrom<NonNullable<Case['ipMode']>[]>('VIP', 'VIP', 'VIP', 'Proxy'),
    sourceRanges: fc.constantFrom<Case['sourceRanges'][]>(
      undefined,
      undefined,
      'client',
      'client and node',
      'no client here',
    ),
    internalTrafficPolicy: anyPolicy,
    externalTrafficPolicy: anyPolicy,
    sessionAffinity: fc.constantFrom('None', 'None', 'None', 'ClientIP'),
    isForeign: fc.nat(19).map((draw) => draw === 0),
    endpoints: anyEndpoints,
  })
  .map(({ internalTrafficPolicy, externalTrafficPolicy, sessionAffinity, isForeign, sourceRanges, ...wish }) => ({
    ...wish,
    ...(sourceRanges && { sourceRanges }),
    ...(isForeign && { labels: { 'service.kubernetes.io/service-proxy-name': 'other' } }),
    spec: { internalTrafficPolicy, externalTrafficPolicy, sessionAffinity },
  }))

/** The same for the same seed. */
export function randomCases({ seed, services }: RandomCluster): readonly Case[] {
  return fc.sample(anyCase, { numRuns: services, seed }).map((wish) => ({ title: titleOf(wish), ...wish }))
}

/** All of it, so that a difference can be read. */
function titleOf({ type, families = [], ports = [], endpoints, spec, ...rest }: Omit<Case, 'title'>): string {
  const wishes = endpoints.map(({ at, slice, conditions, hints }) =>
    [at, `slice ${slice}`, conditionName(conditions), hints && JSON.stringify(hints)].filter(Boolean).join(' '),
  )
  return [
    type,
    families.join('+'),
    JSON.stringify(ports),
    JSON.stringify({ ...spec, ...rest }),
    `[${wishes.join('; ')}]`,
  ].join(' ')
}

function conditionName(conditions: Conditions | undefined): string {
  return (
    [[going, 'going'] as const, [gone, 'gone'] as const, [unready, 'unready'] as const].find(
      ([each]) => each === conditions,
    )?.[1] ?? 'ready'
  )
}
