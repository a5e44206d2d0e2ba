import { type Cidr, cidrContains, hostCidr, type Ip } from '../../model/ip.ts'
import { admittedSet } from './set-specs.ts'
import type { SetElement } from './types.ts'

/** Finds elements as the rules do. */
export class ElementIndex {
  readonly #elements = new Map<string, SetElement>()
  /** Destination → the elements of its networks. */
  readonly #admitted = new Map<string, SetElement[]>()

  constructor(elements: Iterable<SetElement>) {
    for (const element of elements) {
      if (element.set !== admittedSet) this.#elements.set(`${element.set} ${element.key}`, element)
      else this.#admitted.getOrInsert(splitAdmitted(element.key)[0], []).push(element)
    }
  }

  get(set: string, key: string): SetElement | undefined {
    return this.#elements.get(`${set} ${key}`)
  }

  /** The network by which a source may use a destination with source ranges. */
  admits(destination: string, source: Ip): SetElement | undefined {
    return this.#admitted.get(destination)?.find(({ key }) => cidrContains(splitAdmitted(key)[1], hostCidr(source)))
  }
}

function splitAdmitted(key: string): readonly [destination: string, network: Cidr] {
  const at = key.lastIndexOf(' . ')
  const network = key.slice(at + 3)
  return [key.slice(0, at), (network.includes('/') ? network : hostCidr(network as Ip)) as Cidr]
}
