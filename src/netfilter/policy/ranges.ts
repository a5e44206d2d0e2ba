import { addressBits, bigIntToIp, type Cidr, cidrRange, type IpFamily, ipFamily } from '../../model/ip.ts'
import type { IpBlock } from '../../model/network-policy.ts'

type AddressBlock = Pick<IpBlock, 'cidr' | 'except'>

/** Both ends included. */
interface AddressRange {
  readonly first: bigint
  readonly last: bigint
}

/**
 * Computes the networks of one family that ipBlocks hold together: each block without its exceptions, which say nothing about
 * the other blocks. The networks are disjoint, in ascending order and as few as possible, but for all addresses: those are two
 * halves, because no ipset takes a network of prefix length 0.
 */
export function blockNetworks(blocks: readonly AddressBlock[], family: IpFamily): readonly Cidr[] {
  const ranges = unite(blocks.filter(({ cidr }) => ipFamily(cidr) === family).flatMap(withoutExceptions))
  return ranges.flatMap((range) => [...networksOf(range, family)])
}

/** Tells whether these networks, as `blockNetworks` gives them, are all addresses of the family. */
export function areAllAddresses(networks: readonly Cidr[]): boolean {
  return networks.length === 2 && networks.every((network) => network.endsWith('/1'))
}

function withoutExceptions({ cidr, except }: AddressBlock): readonly AddressRange[] {
  const gaps = unite(except.filter((each) => ipFamily(each) === ipFamily(cidr)).map(cidrRange))
  const { first, last } = cidrRange(cidr)
  const left: AddressRange[] = []
  let next = first
  for (const gap of gaps) {
    if (gap.last < next || gap.first > last) continue
    if (gap.first > next) left.push({ first: next, last: gap.first - 1n })
    next = gap.last + 1n
  }
  return next > last ? left : [...left, { first: next, last }]
}

/** Joins ranges that overlap or touch; the result is in ascending order. */
function unite(ranges: readonly AddressRange[]): readonly AddressRange[] {
  const united: { first: bigint; last: bigint }[] = []
  for (const { first, last } of ranges.toSorted((a, b) => (a.first < b.first ? -1 : a.first > b.first ? 1 : 0))) {
    const before = united.at(-1)
    if (before === undefined || first > before.last + 1n) united.push({ first, last })
    else if (last > before.last) before.last = last
  }
  return united
}

function* networksOf({ first, last }: AddressRange, family: IpFamily): Iterable<Cidr> {
  const bits = addressBits(family)
  for (let next = first; next <= last; ) {
    let hostBits = 0
    while (hostBits < bits - 1 && isNetwork(next, hostBits + 1, last)) hostBits++
    yield `${bigIntToIp(next, family)}/${bits - hostBits}` as Cidr
    next += 1n << BigInt(hostBits)
  }
}

/** Tells whether a network with so many host bits begins at the address and ends in the range. */
function isNetwork(first: bigint, hostBits: number, last: bigint): boolean {
  const size = 1n << BigInt(hostBits)
  return first % size === 0n && first + size - 1n <= last
}
