import { TimeSlice } from '../../../loop/time-slice.ts'
import type { SetElement, SetSpec } from '../../../netfilter/nft/types.ts'

/** The number of a set's elements, and a sum over the hashes of all, whatever their order. */
export class Fingerprint {
  #count = 0
  #low = 0
  #high = 0

  add(key: string, data: string): void {
    this.#count += 1
    this.#low = (this.#low + hashOf(key, data, 0x811c9dc5)) | 0
    this.#high = (this.#high + hashOf(data, key, 0x9e3779b9)) | 0
  }

  equals(other: Fingerprint): boolean {
    return this.#count === other.#count && this.#low === other.#low && this.#high === other.#high
  }
}

/** FNV-1a over both texts with a mark between, then a mix of all bits, as sums of it must not hide what differs. */
function hashOf(first: string, second: string, seed: number): number {
  let hash = addText(addText(seed, first) ^ 0x1_0000, second)
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b)
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35)
  return hash ^ (hash >>> 16)
}

function addText(start: number, text: string): number {
  let hash = start
  for (let index = 0; index < text.length; index++) hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193)
  return hash
}

/** Sums up the wanted elements of each of these sets, in turns with other work. */
export async function fingerprintsOf(
  elements: Iterable<SetElement>,
  sets: readonly SetSpec[],
): Promise<ReadonlyMap<string, Fingerprint>> {
  const sums = new Map(sets.map(({ name }) => [name, new Fingerprint()]))
  const slice = new TimeSlice()
  for (const { set, key, data } of elements) {
    sums.get(set)?.add(key, data)
    if (slice.spent) await slice.pause()
  }
  return sums
}

/** The elements of one set that a kernel lacks, has otherwise or has too many. */
export interface ElementDifference {
  readonly remove: readonly SetElement[]
  readonly add: readonly SetElement[]
}

/** Compares the elements of one set. `held`: the kernel's, key → data; it is used up. */
export async function differenceOf(
  set: string,
  wanted: Iterable<SetElement>,
  held: Map<string, string>,
): Promise<ElementDifference> {
  const remove: SetElement[] = []
  const add: SetElement[] = []
  const slice = new TimeSlice()
  for (const element of wanted) {
    if (element.set === set) {
      const data = held.get(element.key)
      held.delete(element.key)
      if (data !== undefined && data !== element.data) remove.push({ ...element, data })
      if (data !== element.data) add.push(element)
    }
    if (slice.spent) await slice.pause()
  }
  for (const [key, data] of held) remove.push({ set, key, data })
  return { remove, add }
}
