import type { Ip } from '../../model/ip.ts'
import { hairpinSet } from './set-specs.ts'
import type { ServiceElements, SetElement } from './types.ts'

/** The elements of one Service as two objects in memory: there may be ten thousands of Services. */
class PackedElements implements ServiceElements {
  readonly own: string
  readonly endpointAddresses: readonly Ip[]

  constructor(own: string, endpointAddresses: readonly Ip[]) {
    this.own = own
    this.endpointAddresses = endpointAddresses
  }

  get elements(): readonly SetElement[] {
    return [...unpack(this.own), ...this.endpointAddresses.map(hairpinOf)]
  }
}

export const noElements: ServiceElements = new PackedElements('', [])

/** Elements from the lines of `ServiceElements.own`. */
export function unpack(own: string): readonly SetElement[] {
  return own === '' ? [] : own.split('\n').map(unpackLine)
}

function unpackLine(line: string): SetElement {
  const [set = '', key = '', data = ''] = line.split('\t')
  return { set, key, data }
}

/** Counts the elements without unpacking them. */
export function countElements({ own, endpointAddresses }: ServiceElements): number {
  let count = own === '' ? 0 : 1
  for (let at = own.indexOf('\n'); at !== -1; at = own.indexOf('\n', at + 1)) count += 1
  return count + endpointAddresses.length
}

export function hairpinOf(address: Ip): SetElement {
  return { set: hairpinSet, key: `${address} . ${address}`, data: '' }
}

/** Elements that Services share go in changes of this size, so that the caller can write them in slices. */
const sharedPerChange = 200

export function* hairpinSlices(addresses: readonly Ip[]): Iterable<readonly SetElement[]> {
  for (let at = 0; at < addresses.length; at += sharedPerChange)
    yield addresses.slice(at, at + sharedPerChange).map(hairpinOf)
}

/** Gathers the elements of one Service; of several with one key the first counts. */
export class ElementPacker {
  readonly #lines: string[] = []
  readonly #heads = new Set<string>()
  readonly #addresses = new Set<Ip>()

  /** Returns whether the key is new in the set. */
  add(set: string, key: string, data: string): boolean {
    const head = `${set}\t${key}`
    if (this.#heads.has(head)) return false
    this.#heads.add(head)
    this.#lines.push(`${head}\t${data}`)
    return true
  }

  /** Adds an element whose key the caller knows to be new in the set. */
  addNew(set: string, key: string, data: string): void {
    this.#lines.push(`${set}\t${key}\t${data}`)
  }

  addEndpointAddress(address: Ip): void {
    this.#addresses.add(address)
  }

  finish(): ServiceElements {
    return new PackedElements(this.#lines.join('\n'), [...this.#addresses])
  }
}
