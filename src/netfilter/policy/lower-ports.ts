import type { PolicyPort } from '../../model/network-policy.ts'
import type { Protocol } from '../../model/service.ts'
import type { Match } from '../ruleset.ts'

/** A port that each destination pod numbers for itself. */
export interface PortName {
  readonly name: string
  readonly protocol: Protocol
}

export interface LoweredPorts {
  /** The matches of one rule each. */
  readonly numbers: readonly (readonly Match[])[]
  readonly names: readonly PortName[]
}

interface PortRange {
  readonly first: number
  readonly last: number
}

/** Numbers that one multiport match holds; a range takes two of these places. */
const multiportPlaces = 15

const protocols: readonly Protocol[] = ['TCP', 'UDP', 'SCTP']
const protocolNames = { TCP: 'tcp', UDP: 'udp', SCTP: 'sctp' } as const

/** Lowers the ports of a rule; absent ports are one rule without a match. What a wider port of the same rule covers is left out. */
export function lowerPorts(ports: readonly PolicyPort[] | undefined): LoweredPorts {
  if (ports === undefined) return { numbers: [[]], names: [] }
  const lowered = protocols.map((protocol) =>
    lowerProtocol(
      protocol,
      ports.filter((port) => port.protocol === protocol),
    ),
  )
  return { numbers: lowered.flatMap(({ numbers }) => numbers), names: lowered.flatMap(({ names }) => names) }
}

function lowerProtocol(protocol: Protocol, ports: readonly PolicyPort[]): LoweredPorts {
  const name = protocolNames[protocol]
  if (ports.some(({ kind }) => kind === 'protocol')) {
    return { numbers: [[{ kind: 'protocol', protocol: name }]], names: [] }
  }
  const ranges = unite(ports.filter((port) => port.kind === 'range'))
  const names = new Set(ports.filter((port) => port.kind === 'name').map((port) => port.name))
  return {
    numbers: inMultiports(ranges).map((chunk) => [matchPorts(name, chunk)]),
    names: [...names].sort().map((each) => ({ name: each, protocol })),
  }
}

function matchPorts(protocol: 'tcp' | 'udp' | 'sctp', ranges: readonly PortRange[]): Match {
  const [range, ...others] = ranges
  if (range === undefined || others.length > 0) return { kind: 'destination-ports', protocol, ports: ranges }
  const { first, last } = range
  return { kind: 'destination-port', protocol, port: first, ...(last > first && { lastPort: last }) }
}

/** Joins ranges that overlap or touch. */
function unite(ranges: readonly PortRange[]): readonly PortRange[] {
  const united: { first: number; last: number }[] = []
  for (const { first, last } of ranges.toSorted((a, b) => a.first - b.first)) {
    const before = united.at(-1)
    if (before === undefined || first > before.last + 1) united.push({ first, last })
    else before.last = Math.max(before.last, last)
  }
  return united
}

function inMultiports(ranges: readonly PortRange[]): readonly (readonly PortRange[])[] {
  const chunks: PortRange[][] = []
  let places = multiportPlaces
  for (const range of ranges) {
    const taken = range.first === range.last ? 1 : 2
    if (places + taken > multiportPlaces) {
      chunks.push([])
      places = 0
    }
    chunks.at(-1)?.push(range)
    places += taken
  }
  return chunks
}
