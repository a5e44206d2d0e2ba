import type { NetlinkMessage } from '../netlink.ts'
import { ElementListWriter } from './element-list-writer.ts'
import type { ElementChange, NftTable } from './types.ts'

/** The length of an attribute has 16 bits, and an element takes less than 128 bytes: a list of so many has room for one more change. */
const maxListBytes = 32_000
/** A socket takes some 200 KiB at once. */
const maxBatchBytes = 100_000
/** A larger change is left to nft. */
const maxElements = 256

/** Additions of whole changes as one transaction. */
export interface AdditionBatch {
  /** Undefined for changes that cannot be encoded: of many elements, with networks, or with an element that the kernel could not take. */
  readonly messages: readonly NetlinkMessage[] | undefined
  readonly changes: readonly ElementChange[]
}

/** Encodes the additions of many changes as transactions of some thousand elements; what cannot be encoded comes last. */
export function* encodeAdditions(table: NftTable, changes: Iterable<ElementChange>): Generator<AdditionBatch, void> {
  const rest: ElementChange[] = []
  let builder = new BatchBuilder(table)
  for (const change of changes) {
    if (!builder.add(change)) rest.push(change)
    if (!builder.isFull) continue
    yield builder.finish()
    builder = new BatchBuilder(table)
  }
  if (!builder.isEmpty) yield builder.finish()
  if (rest.length > 0) yield { messages: undefined, changes: rest }
}

class BatchBuilder {
  readonly #table: NftTable
  readonly #lists = new Map<string, ElementListWriter>()
  readonly #changes: ElementChange[] = []

  constructor(table: NftTable) {
    this.#table = table
  }

  get isEmpty(): boolean {
    return this.#changes.length === 0
  }

  get isFull(): boolean {
    let bytes = 0
    for (const { length } of this.#lists.values()) {
      if (length > maxListBytes) return true
      bytes += length
    }
    return bytes > maxBatchBytes
  }

  /** Returns false and adds nothing of a change that cannot be encoded. */
  add({ service, add }: ElementChange): boolean {
    try {
      if (add.length > maxElements) return false
      for (const { set, key, data } of add) this.#listOf(set).add(key, data)
      for (const list of this.#lists.values()) list.confirm()
      this.#changes.push({ service, remove: [], add })
      return true
    } catch (thrown) {
      if (!(thrown instanceof RangeError)) throw thrown
      for (const list of this.#lists.values()) list.takeBack()
      return false
    }
  }

  finish(): AdditionBatch {
    const lists = [...this.#lists.values()].filter(({ length }) => length > 0)
    return { messages: lists.map((list) => list.finish()), changes: this.#changes }
  }

  #listOf(set: string): ElementListWriter {
    const known = this.#lists.get(set)
    if (known !== undefined) return known
    const spec = this.#table.sets.find(({ name }) => name === set)
    if (spec === undefined || spec.isInterval) throw new RangeError(`${set} is no set of single elements`)
    const made = new ElementListWriter(this.#table, spec)
    this.#lists.set(set, made)
    return made
  }
}
