import type { IpFamily } from '../../model/ip.ts'
import type { NftType, SetSpec } from './types.ts'

/** The maps by which one kind of destination finds its endpoints: addresses with ports, or node ports. */
export interface BalanceSets {
  /** Destination → flags and the number of endpoints (`AddressData`). */
  readonly counts: string
  /** Destination and place, or number of a remembered endpoint → endpoint. */
  readonly endpoints: string
  /** Affinity: destination and place → the number that the endpoint is remembered by. */
  readonly slots: string
}

/** The maps of all destinations; `local` are those of endpoints on this node, for the external policy Local. */
export const balanceSets = {
  address: { counts: 'addresses', endpoints: 'endpoints', slots: 'slots' },
  'local-address': { counts: 'local-addresses', endpoints: 'local-endpoints', slots: 'local-slots' },
  port: { counts: 'ports', endpoints: 'port-endpoints', slots: 'port-slots' },
  'local-port': { counts: 'local-ports', endpoints: 'local-port-endpoints', slots: 'local-port-slots' },
} as const satisfies Readonly<Record<string, BalanceSets>>

/** Refusals by where they hold: cluster IPs, other addresses of Services, node ports. */
export const refusalSets = {
  cluster: { reject: 'refuse', drop: 'discard' },
  external: { reject: 'external-refuse', drop: 'external-discard' },
  port: { reject: 'port-refuse', drop: 'port-discard' },
} as const

/** Destinations and the networks whose packets may enter there. */
export const admittedSet = 'admitted'
/** Each endpoint's address twice: a packet that goes back to where it came from. */
export const hairpinSet = 'hairpin'
/** Ports where load balancers ask for the health of this node's endpoints. */
export const healthSet = 'health'

/** Packets fill these: client and destination → the number of the endpoint. */
export const clientSets = { address: 'clients', port: 'port-clients' } as const

/** Tells whether packets fill a set, so that its elements are no drift. */
export function isFilledByPackets(set: string): boolean {
  return set === clientSets.address || set === clientSets.port
}

/** Destinations whose clients are remembered for so long. */
export function stickySet(kind: 'address' | 'port', timeoutSeconds: number): string {
  return `${kind === 'port' ? 'port-' : ''}sticky-${timeoutSeconds}`
}

/** Reads the timeout in seconds from the name of a set of `stickySet`; undefined for other sets. */
export function timeoutOf(set: string): number | undefined {
  const [, seconds] = /^(?:port-)?sticky-(\d+)$/.exec(set) ?? []
  return seconds === undefined ? undefined : Number(seconds)
}

/** Every set that holds elements of Services, in the order in which the table declares them. */
export function setSpecs(family: IpFamily, timeouts: readonly number[]): readonly SetSpec[] {
  const ip: NftType = family === 'IPv4' ? 'ipv4_addr' : 'ipv6_addr'
  const port: readonly NftType[] = ['inet_proto', 'inet_service']
  const address: readonly NftType[] = [ip, ...port]
  const setOf = (name: string, key: readonly NftType[]): SetSpec => ({ name, key, data: [], isInterval: false })
  const refusals = (['cluster', 'external', 'port'] as const).flatMap((where) =>
    Object.values(refusalSets[where]).map((name) => setOf(name, where === 'port' ? port : address)),
  )
  return [
    ...Object.entries(balanceSets).flatMap(([kind, sets]) =>
      balanceSpecs(sets, kind === 'port' || kind === 'local-port' ? port : address, ip),
    ),
    ...timeouts.flatMap((timeout) => [
      setOf(stickySet('address', timeout), address),
      setOf(stickySet('port', timeout), port),
    ]),
    { name: admittedSet, key: [...address, ip], data: [], isInterval: true },
    setOf(hairpinSet, [ip, ip]),
    setOf(healthSet, ['inet_service']),
    ...refusals,
  ]
}

function balanceSpecs(sets: BalanceSets, key: readonly NftType[], ip: NftType): readonly SetSpec[] {
  const placed: readonly NftType[] = [...key, 'classid']
  return [
    { name: sets.counts, key, data: ['classid'], isInterval: false },
    { name: sets.endpoints, key: placed, data: [ip, 'inet_service'], isInterval: false },
    { name: sets.slots, key: placed, data: ['classid'], isInterval: false },
  ]
}
