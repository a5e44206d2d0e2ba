import { type Cidr, cidrRange, type IpFamily } from '../../model/ip.ts'

interface Held {
  readonly first: bigint
  readonly last: bigint
  readonly holder: string
}

/** Networks no two of which overlap, each with its holder, in the order of their addresses: a question takes logarithmic time. */
export class DisjointNetworks {
  readonly #held: Record<IpFamily, Held[]> = { IPv4: [], IPv6: [] }

  /** The holder of the first network that overlaps this one. */
  holderOf(cidr: Cidr): string | undefined {
    const { family, first, last } = cidrRange(cidr)
    const held = this.#held[family][this.#indexOf(family, first)]
    return held !== undefined && held.first <= last ? held.holder : undefined
  }

  /** The network overlaps none that is held. */
  add(cidr: Cidr, holder: string): void {
    const { family, first, last } = cidrRange(cidr)
    this.#held[family].splice(this.#indexOf(family, first), 0, { first, last, holder })
  }

  /** Finds the index of the first network that does not end before this address. */
  #indexOf(family: IpFamily, address: bigint): number {
    const held = this.#held[family]
    let [low, high] = [0, held.length]
    while (low < high) {
      const middle = (low + high) >>> 1
      const isBefore = (held[middle]?.last ?? address) < address
      if (isBefore) low = middle + 1
      else high = middle
    }
    return low
  }
}
