import { cidrRange, type Ip, ipFamily, ipToBigInt, ipv4ToNumber } from '../../model/ip.ts'
import type { IpBlock, NetworkPolicy, PodPeer, PolicyPort, PolicyRule } from '../../model/network-policy.ts'
import type { Direction } from './verdict.ts'

/** An address as a number: of IPv4 a number, of IPv6 a bigint, so that no IPv4 address compares equal to an IPv6 address. */
export type AddressValue = number | bigint

/** A policy in one direction with its networks as numbers. */
export interface CompiledPolicy {
  readonly policy: NetworkPolicy
  readonly key: string
  readonly namespace: string
  readonly rules: readonly CompiledRule[]
}

export interface CompiledRule {
  readonly peers: readonly CompiledPeer[] | undefined
  readonly ports: readonly PolicyPort[] | undefined
}

type CompiledPeer = PodPeer | CompiledBlock

export interface CompiledBlock {
  readonly kind: 'ip-block'
  readonly range: AddressRange
  readonly except: readonly AddressRange[]
}

/** Both ends included. */
interface AddressRange {
  readonly first: AddressValue
  readonly last: AddressValue
}

/** Undefined if the policy does not isolate in that direction. */
export function compilePolicy(policy: NetworkPolicy, direction: Direction): CompiledPolicy | undefined {
  const rules = policy[direction]
  return rules && { policy, key: policy.key, namespace: policy.namespace, rules: rules.map(compileRule) }
}

function compileRule({ peers, ports }: PolicyRule): CompiledRule {
  return { peers: peers?.map((peer) => (peer.kind === 'pods' ? peer : compileBlock(peer))), ports }
}

function compileBlock({ kind, cidr, except }: IpBlock): CompiledBlock {
  return { kind, range: rangeOf(cidr), except: except.map(rangeOf) }
}

function rangeOf(cidr: IpBlock['cidr']): AddressRange {
  const { family, first, last } = cidrRange(cidr)
  return family === 'IPv4' ? { first: Number(first), last: Number(last) } : { first, last }
}

export function addressValue(address: Ip): AddressValue {
  return ipFamily(address) === 'IPv6' ? ipToBigInt(address) : ipv4ToNumber(address)
}

export function blockHolds({ range, except }: CompiledBlock, value: AddressValue): boolean {
  return rangeHolds(range, value) && !except.some((each) => rangeHolds(each, value))
}

function rangeHolds({ first, last }: AddressRange, value: AddressValue): boolean {
  return typeof value === typeof first && first <= value && value <= last
}
