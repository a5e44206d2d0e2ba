import { countLeading } from '../../model/binary-search.ts'
import { type Cidr, type CidrRange, cidrRange, type IpFamily } from '../../model/ip.ts'

interface Held extends CidrRange {
  readonly holder: string
}

/** Networks no two of which overlap, each with its holder, in the order of their addresses: a question takes logarithmic time. */
export class DisjointNetworks {
  readonly #held: Record<IpFamily, Held[]> = { IPv4: [], IPv6: [] }

  /** Each network is its own holder; those inside another one are left out. */
  static outermost(networks: readonly Cidr[]): DisjointNetworks {
    const found = new DisjointNetworks()
    const prefixOf = (cidr: Cidr) => Number(cidr.slice(cidr.indexOf('/') + 1))
    for (const cidr of networks.toSorted((one, other) => prefixOf(one) - prefixOf(other)))
      if (found.holderOf(cidr) === undefined) found.add(cidr, cidr)
    return found
  }

  /** The holder of the first network that overlaps this one. */
  holderOf(cidr: Cidr): string | undefined {
    const { family, first, last } = cidrRange(cidr)
    const held = this.#held[family][this.#indexOf(family, first)]
    return held !== undefined && held.first <= last ? held.holder : undefined
  }

  /** The network overlaps none that is held. */
  add(cidr: Cidr, holder: string): void {
    const { family, first, last } = cidrRange(cidr)
    this.#held[family].splice(this.#indexOf(family, first), 0, { family, first, last, holder })
  }

  /** Finds the index of the first network that does not end before this address. */
  #indexOf(family: IpFamily, address: bigint): number {
    return countLeading(this.#held[family], ({ last }) => last < address)
  }
}
