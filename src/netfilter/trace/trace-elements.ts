import { cidrContains, hostCidr, type Ip, isLoopback } from '../../model/ip.ts'
import { addressFlags, maxEndpoints, parseClassid, renderClassid } from '../nft/address-data.ts'
import { addressKey, portKey } from '../nft/destination-key.ts'
import type { ElementIndex } from '../nft/element-index.ts'
import { balanceSets, hairpinSet, healthSet, refusalSets } from '../nft/set-specs.ts'
import type { SetElement } from '../nft/types.ts'
import type { ProxyRuleSettings } from '../settings.ts'
import { matchInterface } from './match-rule.ts'
import type { TracedPacket, TraceOutcome } from './types.ts'

/** Everything else that decides on a packet in the table of maps. Clients of affinity are not known: each is taken for a new one. */
export interface ElementTraceContext {
  readonly elements: ElementIndex
  readonly settings: ProxyRuleSettings
  /** Whether one of this node's links has this address. */
  isLocalAddress(address: Ip): boolean
}

/**
 * Where a packet would go by the table of maps (`renderTable`), as `tracePacket` says it for rules of iptables. The outcomes name
 * the elements that decided and no rules: those are the same for all Services.
 */
export function traceElements(packet: TracedPacket, context: ElementTraceContext): readonly TraceOutcome[] {
  const ways = packet.state === 'NEW' ? translate(packet, context) : [untouched]
  return ways.map((way) => finish(packet, way, context))
}

/** One of the ways that nat may choose. */
interface Way {
  readonly probability: number
  readonly endpoint?: { readonly address: Ip; readonly port: number }
  readonly isMarked: boolean
  readonly elements: readonly SetElement[]
}

const untouched: Way = { probability: 1, isMarked: false, elements: [] }

type Kind = keyof typeof balanceSets

function translate(packet: TracedPacket, context: ElementTraceContext): readonly Way[] {
  const ways = throughService(packet, 'address', context)
  if (ways.length > 0) return ways
  const port = isNodePortAddress(packet, context, true) ? throughService(packet, 'port', context) : []
  return port.length > 0 ? port : [untouched]
}

/** The chains `service` and `service-port`; no way at all where they leave the packet as it is. */
function throughService(packet: TracedPacket, kind: 'address' | 'port', context: ElementTraceContext): readonly Way[] {
  const { elements, settings, isLocalAddress } = context
  const key = kind === 'address' ? addressKey(packet, packet.destination) : portKey(packet, packet.port)
  const found = elements.get(balanceSets[kind].counts, key)
  if (found === undefined) return []
  const has = (flag: keyof typeof addressFlags) => ((parseClassid(found.data) >>> 16) & addressFlags[flag]) !== 0
  const admitted = has('guarded') ? elements.admits(key, packet.source) : undefined
  if (has('guarded') && admitted === undefined) return []
  const isPod = comesFromPod(packet, settings)
  const isMarked = has('masquerade') || (has('masqueradeOthers') && settings.localTraffic !== undefined && !isPod)
  const start: Way = { probability: 1, isMarked, elements: admitted === undefined ? [found] : [found, admitted] }
  if (!has('local') || isPod) return choose(start, kind, found, elements)
  if (isLocalAddress(packet.source)) return choose({ ...start, isMarked: true }, kind, found, elements)
  const localKind = `local-${kind}` as const
  const local = elements.get(balanceSets[localKind].counts, key)
  return local === undefined ? [] : choose(withElement(start, local), localKind, local, elements)
}

/** Every place may be drawn. */
function choose(start: Way, kind: Kind, count: SetElement, elements: ElementIndex): readonly Way[] {
  const number = parseClassid(count.data)
  const isSticky = ((number >>> 16) & addressFlags.sticky) !== 0
  const places = number & maxEndpoints
  return Array.from({ length: places }, (_, index) => {
    const place = `${count.key} . ${renderClassid(index + 1)}`
    const slot = isSticky ? elements.get(balanceSets[kind].slots, place) : undefined
    const endpoint = elements.get(
      balanceSets[kind].endpoints,
      slot === undefined ? place : `${count.key} . ${slot.data}`,
    )
    const [address = '', port = ''] = endpoint?.data.split(' . ') ?? []
    const way = { ...start, probability: start.probability / places }
    if (endpoint === undefined) return way
    return withElement({ ...way, endpoint: { address: address as Ip, port: Number(port) } }, slot, endpoint)
  })
}

function withElement(way: Way, ...elements: readonly (SetElement | undefined)[]): Way {
  return { ...way, elements: [...way.elements, ...elements.filter((element) => element !== undefined)] }
}

function comesFromPod({ source, inInterface }: TracedPacket, { localTraffic }: ProxyRuleSettings): boolean {
  if (localTraffic === undefined) return false
  if (localTraffic.kind === 'source') return cidrContains(localTraffic.cidr, hostCidr(source))
  return matchInterface(localTraffic.isPrefix ? `${localTraffic.name}+` : localTraffic.name, inInterface)
}

function isNodePortAddress(
  { destination }: Pick<TracedPacket, 'destination'>,
  { settings: { nodePortAddresses }, isLocalAddress }: ElementTraceContext,
  asksForLocal: boolean,
): boolean {
  if (nodePortAddresses !== undefined) return nodePortAddresses.includes(destination)
  return !isLoopback(destination) && (!asksForLocal || isLocalAddress(destination))
}

/** Filter and postrouting, in the order in which the kernel calls them. */
function finish(packet: TracedPacket, way: Way, context: ElementTraceContext): TraceOutcome {
  const { address: destination, port } = way.endpoint ?? { address: packet.destination, port: packet.port }
  const goesTo = context.isLocalAddress(destination) ? 'this-node' : 'elsewhere'
  const isMadeHere = packet.origin === 'this-node'
  const seen = { ...packet, destination, port }
  const passing = isMadeHere || goesTo === 'elsewhere' ? judgeOnTheWay(seen, way, context) : undefined
  const found = passing ?? (goesTo === 'this-node' ? judgeInput(seen, context) : undefined)
  const leaves = packet.state === 'NEW' && (isMadeHere || goesTo === 'elsewhere') && passing === undefined
  const hairpin = way.endpoint && context.elements.get(hairpinSet, `${packet.source} . ${destination}`)
  return {
    probability: way.probability,
    verdict: found?.verdict ?? 'accept',
    ...(way.endpoint && { endpoint: way.endpoint }),
    masqueraded: leaves && (way.isMarked || hairpin !== undefined),
    goesTo,
    rules: [],
    elements: withElement(way, leaves && !way.isMarked ? hairpin : undefined, found?.element).elements,
  }
}

interface Judgement {
  readonly verdict: 'drop' | 'reject'
  /** Absent where the state of the connection decided. */
  readonly element?: SetElement
}

/** The chains `filter-output` and `filter-forward`. */
function judgeOnTheWay(packet: TracedPacket, way: Way, context: ElementTraceContext): Judgement | undefined {
  if (way.isMarked) return undefined
  if (packet.state === 'NEW') {
    const key = addressKey(packet, packet.destination)
    return judge('cluster', key, context) ?? judge('external', key, context)
  }
  const isDropped =
    packet.state === 'INVALID' && packet.origin === 'elsewhere' && context.settings.dropInvalid !== false
  return isDropped ? { verdict: 'drop' } : undefined
}

/** The chain `filter-input`. */
function judgeInput(packet: TracedPacket, context: ElementTraceContext): Judgement | undefined {
  if (packet.state !== 'NEW') return undefined
  const { protocol, port, destination } = packet
  if (protocol === 'TCP' && context.elements.get(healthSet, `${port}`) !== undefined) return undefined
  const onPort = isNodePortAddress(packet, context, false) ? judge('port', portKey(packet, port), context) : undefined
  return onPort ?? judge('external', addressKey(packet, destination), context)
}

function judge(where: keyof typeof refusalSets, key: string, { elements }: ElementTraceContext): Judgement | undefined {
  for (const verdict of ['drop', 'reject'] as const) {
    const element = elements.get(refusalSets[where][verdict], key)
    if (element !== undefined) return { verdict, element }
  }
  return undefined
}
