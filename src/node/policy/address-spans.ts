import { countLeading } from '../../model/binary-search.ts'
import { addressBits, bigIntToIp, type Ip, type IpFamily } from '../../model/ip.ts'
import type { NetworkPolicy } from '../../model/network-policy.ts'
import { type AddressValue, blockHolds, type CompiledBlock, compilePolicy } from './compiled-policy.ts'
import type { Direction } from './verdict.ts'

/** Addresses of one family in a row, both ends included. */
export interface AddressSpan {
  readonly family: IpFamily
  readonly first: Ip
  readonly last: Ip
}

/** The ipBlocks of rules, of both directions or one. */
export function blocksOf(
  policies: Iterable<NetworkPolicy>,
  ...directions: readonly Direction[]
): readonly CompiledBlock[] {
  return Array.from(policies).flatMap((policy) =>
    directions.flatMap((direction) =>
      (compilePolicy(policy, direction)?.rules ?? []).flatMap(({ peers = [] }) =>
        peers.filter((peer) => peer.kind === 'ip-block'),
      ),
    ),
  )
}

/** Cuts all addresses of a family where an ipBlock or one of its exceptions begins or ends. */
export function cutAddresses(blocks: readonly CompiledBlock[], family: IpFamily): readonly AddressSpan[] {
  const starts = startsOf(blocks, family)
  const end = family === 'IPv4' ? 2 ** addressBits(family) : 1n << BigInt(addressBits(family))
  return starts.map((first, index) => ({
    family,
    first: toIp(first, family),
    last: toIp(before(starts[index + 1] ?? end), family),
  }))
}

/** Names the set of blocks that hold an address, so that equal names are equal for every rule. */
export class BlockMembership {
  readonly #blocks: readonly CompiledBlock[]
  readonly #starts: Readonly<Record<IpFamily, readonly AddressValue[]>>
  readonly #names = new Map<AddressValue, string>()

  constructor(blocks: readonly CompiledBlock[]) {
    this.#blocks = blocks
    this.#starts = { IPv4: startsOf(blocks, 'IPv4'), IPv6: startsOf(blocks, 'IPv6') }
  }

  nameOf(value: AddressValue, family: IpFamily): string {
    const starts = this.#starts[family]
    const start = starts[findSpan(starts, value)] ?? value
    const known = this.#names.get(start)
    if (known !== undefined) return known
    const name = this.#blocks.flatMap((block, index) => (blockHolds(block, start) ? [index] : [])).join()
    this.#names.set(start, name)
    return name
  }
}

/** The place of the last start that is not greater. */
function findSpan(starts: readonly AddressValue[], value: AddressValue): number {
  return Math.max(0, countLeading(starts, (start) => start <= value) - 1)
}

function startsOf(blocks: readonly CompiledBlock[], family: IpFamily): readonly AddressValue[] {
  const isWanted = (value: AddressValue) => (typeof value === 'number') === (family === 'IPv4')
  const end = family === 'IPv4' ? 2 ** 32 : 1n << 128n
  const bounds = blocks
    .flatMap(({ range, except }) => [range, ...except])
    .filter(({ first }) => isWanted(first))
    .flatMap(({ first, last }) => [first, after(last)])
  const zero = family === 'IPv4' ? 0 : 0n
  return [...new Set([zero, ...bounds])].filter((value) => value < end).sort((a, b) => (a < b ? -1 : a > b ? 1 : 0))
}

function after(value: AddressValue): AddressValue {
  return typeof value === 'number' ? value + 1 : value + 1n
}

function before(value: AddressValue): AddressValue {
  return typeof value === 'number' ? value - 1 : value - 1n
}

function toIp(value: AddressValue, family: IpFamily): Ip {
  return bigIntToIp(BigInt(value), family)
}
