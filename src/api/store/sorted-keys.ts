import { countLeading } from '../../model/binary-search.ts'

const maxBlockLength = 512

/**
 * Keys in ascending order (UTF-16 code units), in blocks of at most 512: an insert moves one block, not the whole list,
 * and finding a place is two binary searches.
 */
export class SortedKeys {
  #blocks: string[][] = []

  add(key: string): void {
    const blockIndex = Math.max(0, countLeading(this.#blocks, (block) => isFirstAtOrBelow(block, key)) - 1)
    const block = this.#blocks[blockIndex]
    if (block === undefined) {
      this.#blocks.push([key])
      return
    }
    const position = countLeading(block, (other) => other < key)
    if (block[position] === key) return
    block.splice(position, 0, key)
    if (block.length > maxBlockLength) this.#blocks.splice(blockIndex + 1, 0, block.splice(maxBlockLength >>> 1))
  }

  delete(key: string): void {
    const blockIndex = countLeading(this.#blocks, (block) => isFirstAtOrBelow(block, key)) - 1
    const block = this.#blocks[blockIndex]
    if (block === undefined) return
    const position = countLeading(block, (other) => other < key)
    if (block[position] !== key) return
    block.splice(position, 1)
    if (block.length === 0) this.#blocks.splice(blockIndex, 1)
  }

  /** Yields every key at or above `start`, in order. The keys must not change meanwhile. */
  *from(start: string): Generator<string, void> {
    const firstBlock = Math.max(0, countLeading(this.#blocks, (block) => isFirstAtOrBelow(block, start)) - 1)
    for (let index = firstBlock; index < this.#blocks.length; index++) {
      const block = this.#blocks[index] ?? []
      const position = index === firstBlock ? countLeading(block, (key) => key < start) : 0
      for (let at = position; at < block.length; at++) yield block[at] ?? ''
    }
  }
}

function isFirstAtOrBelow(block: readonly string[], key: string): boolean {
  return (block[0] ?? '') <= key
}
