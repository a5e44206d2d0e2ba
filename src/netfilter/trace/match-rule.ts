import { cidrContains, hostCidr, type Ip, ipToBigInt } from '../../model/ip.ts'
import type { Match, Rule } from '../ruleset.ts'
import type { TracedPacket, TracedWorld } from './types.ts'

/** A packet on its way: what it was, and what rules have made of it so far. */
export interface PacketState extends TracedPacket {
  readonly mark: number
  readonly isTranslated: boolean
}

/** With which probability a rule takes the packet; anything but 0 and 1 is a `statistic` match. */
export function matchRule(rule: Rule, packet: PacketState, context: TracedWorld): number {
  return rule.matches.reduce((chance, match) => chance && chance * matchOne(match, packet, context), 1)
}

function matchOne(match: Match, packet: PacketState, context: TracedWorld): number {
  if (match.kind === 'statistic') return match.probability
  const holds = test(match, packet, context)
  return Number('negated' in match && match.negated === true ? !holds : holds)
}

function test(match: Exclude<Match, { kind: 'statistic' }>, packet: PacketState, context: TracedWorld): boolean {
  switch (match.kind) {
    case 'protocol':
      return packet.protocol.toLowerCase() === match.protocol
    case 'source':
      return cidrContains(match.cidr, hostCidr(packet.source))
    case 'destination':
      return cidrContains(match.cidr, hostCidr(packet.destination))
    case 'destination-bits':
      return (lastBits(packet.destination) & match.mask) === match.value
    case 'destination-port':
      return (
        packet.protocol.toLowerCase() === match.protocol &&
        packet.port >= match.port &&
        packet.port <= (match.lastPort ?? match.port)
      )
    case 'in-interface':
      return matchInterface(match.name, packet.inInterface)
    case 'address-type':
      return context.isLocalAddress(match.side === 'source' ? packet.source : packet.destination)
    case 'connection-state':
      return match.states.includes(packet.state) || (packet.isTranslated && match.states.includes('DNAT'))
    case 'mark':
      return (packet.mark & match.mask) >>> 0 === match.value
    case 'recent-check':
      return context.remembers?.(match.list, packet.source) ?? false
    case 'in-set':
      return context.remembers?.(match.set, packet.source) ?? false
    case 'address-bit':
      return hasBit(match.side === 'source' ? packet.source : packet.destination, match.bit)
    case 'destination-ports':
      return (
        packet.protocol.toLowerCase() === match.protocol &&
        match.ports.some(({ first, last }) => packet.port >= first && packet.port <= last)
      )
    case 'icmpv6-type':
      return false
    case 'recent-set':
      return true
  }
}

function hasBit(address: Ip, bit: number): boolean {
  return ((ipToBigInt(address) >> BigInt(bit)) & 1n) === 1n
}

function lastBits(address: Ip): number {
  return Number(ipToBigInt(address) & 0xffffn)
}

/** Matches the interface of arrival; a packet of this node itself has none. */
export function matchInterface(wanted: string, inInterface = ''): boolean {
  return wanted.endsWith('+') ? inInterface.startsWith(wanted.slice(0, -1)) : inInterface === wanted
}
