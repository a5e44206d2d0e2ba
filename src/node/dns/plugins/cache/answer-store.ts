import { headerLength, type Query } from '../../wire/query.ts'
import { isQuestionAt, questionBits, questionHash } from '../../wire/question-hash.ts'

const blockBytes = 192
const blockWords = blockBytes / 4
const blockDoubles = blockBytes / 8
/** An entry's first block begins with fields of 32 bits, then of 64; each further one with the number of the next block. */
const headBytes = 64
const furtherHeadBytes = 4
const firstBytes = blockBytes - headBytes
const furtherBytes = blockBytes - furtherHeadBytes
const word = { nextBlock: 0, hash: 1, chained: 2, older: 3, newer: 4, length: 5, about: 6, hits: 7 } as const
const double = { storedAt: 4, expiresAt: 5, lastHit: 6, failedAt: 7 } as const
const firstBlocks = 64
/** The field `about` has the bits of the question, and the mark above them. */
const questionBitsMask = 3
const markShift = 2
/** Header and question of a message whose question does not fit in its first block; a name has 255 bytes at most. */
const longQuestion = Buffer.allocUnsafeSlow(512)

export interface StoredTimes {
  readonly storedAtMs: number
  readonly expiresAtMs: number
}

export interface AnswerStoreLimits {
  readonly entries: number
  readonly bytes: number
}

/**
 * Messages of upstreams by question, in one piece of memory that grows up to its limit. V8's collector finds one object, however many answers
 * come and go. A message takes blocks of 192 bytes, which are linked; the first one has its number (the entry), which is above 0 and valid until
 * the next `put` or `delete`. The least recently used entry is dropped where entries or blocks run out.
 */
export class AnswerStore {
  readonly #maxEntries: number
  readonly #maxBlocks: number
  readonly #onEvict: () => void
  #bytes = Buffer.alloc(0)
  #words = new Int32Array()
  #doubles = new Float64Array()
  /** The first entry of each chain of entries whose hashes end alike. */
  #chains = new Int32Array()
  #firstFree = 0
  #freeBlocks = 0
  #oldest = 0
  #newest = 0
  #size = 0

  constructor({ entries, bytes }: AnswerStoreLimits, onEvict = () => {}) {
    this.#maxBlocks = Math.max(2, Math.floor(bytes / blockBytes))
    this.#maxEntries = Math.max(1, entries)
    this.#onEvict = onEvict
  }

  get size(): number {
    return this.#size
  }

  /** The bytes of the blocks in use. Block 0 is none. */
  get bytes(): number {
    return Math.max(0, this.#bytes.length - blockBytes) - this.#freeBlocks * blockBytes
  }

  /** Returns the entry of the question, or 0. */
  find(query: Query): number {
    if (this.#size === 0) return 0
    const hash = questionHash(query)
    let entry = this.#chains[this.#chainOf(hash)] ?? 0
    while (entry !== 0 && !this.#isFor(entry, hash, query)) entry = this.#word(entry, word.chained)
    return entry
  }

  /** Notes a use: the entry is dropped after all others. */
  use(entry: number): void {
    if (entry === this.#newest) return
    this.#unlinkAge(entry)
    this.#linkNewest(entry)
  }

  /**
   * Keeps a message, and a mark from 0 to 255, in place of what was kept for the question. A message that is longer than all blocks is not kept.
   */
  put(query: Query, message: Uint8Array, { storedAtMs, expiresAtMs }: StoredTimes, mark = 0): void {
    this.delete(this.find(query))
    const blocks = blocksOf(message.length)
    if (blocks >= this.#maxBlocks) return
    while (this.#size >= this.#maxEntries || !this.#makeRoom(blocks)) this.#evict()
    const entry = this.#write(message)
    this.#setWord(entry, word.about, questionBits(query) | (mark << markShift))
    this.#setWord(entry, word.hits, 0)
    this.#setDouble(entry, double.storedAt, storedAtMs)
    this.#setDouble(entry, double.expiresAt, expiresAtMs)
    this.#setDouble(entry, double.lastHit, storedAtMs)
    this.#setDouble(entry, double.failedAt, Number.NEGATIVE_INFINITY)
    this.#setWord(entry, word.hash, questionHash(query))
    this.#linkChain(entry)
    this.#linkNewest(entry)
    this.#size += 1
  }

  /** Drops an entry; nothing for 0. */
  delete(entry: number): void {
    if (entry === 0) return
    this.#unlinkChain(entry)
    this.#unlinkAge(entry)
    this.#size -= 1
    for (let block = entry; block !== 0; ) {
      const next = this.#word(block, word.nextBlock)
      this.#freeOne(block)
      block = next
    }
  }

  length(entry: number): number {
    return this.#word(entry, word.length)
  }

  mark(entry: number): number {
    return this.#word(entry, word.about) >> markShift
  }

  storedAtMs(entry: number): number {
    return this.#double(entry, double.storedAt)
  }

  expiresAtMs(entry: number): number {
    return this.#double(entry, double.expiresAt)
  }

  /** When the upstreams last failed to give a newer answer; long ago where they did not fail. */
  failedAtMs(entry: number): number {
    return this.#double(entry, double.failedAt)
  }

  noteFailure(entry: number, nowMs: number): void {
    this.#setDouble(entry, double.failedAt, nowMs)
  }

  /** Counts a hit, and returns how many there were with no more than `withinMs` between two. */
  hit(entry: number, nowMs: number, withinMs: number): number {
    const isLate = nowMs - this.#double(entry, double.lastHit) > withinMs
    const hits = isLate ? 1 : this.#word(entry, word.hits) + 1
    this.#setWord(entry, word.hits, hits)
    this.#setDouble(entry, double.lastHit, nowMs)
    return hits
  }

  /** The low 4 bits of the rcode. */
  rcode(entry: number): number {
    return (this.#bytes[entry * blockBytes + headBytes + 3] ?? 0) & 0xf
  }

  /** Copies the message to the beginning of `out`, as much as fits. Returns how many bytes it copied. */
  copy(entry: number, out: Buffer): number {
    const length = Math.min(this.length(entry), out.length)
    const start = entry * blockBytes + headBytes
    let done = this.#bytes.copy(out, 0, start, start + Math.min(length, firstBytes))
    for (let block = this.#word(entry, word.nextBlock); done < length; block = this.#word(block, word.nextBlock)) {
      const from = block * blockBytes + furtherHeadBytes
      done += this.#bytes.copy(out, done, from, from + Math.min(length - done, furtherBytes))
    }
    return length
  }

  #isFor(entry: number, hash: number, query: Query): boolean {
    if (this.#word(entry, word.hash) !== hash) return false
    if ((this.#word(entry, word.about) & questionBitsMask) !== questionBits(query)) return false
    const { questionEnd } = query
    if (questionEnd <= firstBytes)
      return isQuestionAt(query, this.#bytes, entry * blockBytes + headBytes + headerLength)
    return this.copy(entry, longQuestion) >= questionEnd && isQuestionAt(query, longQuestion, headerLength)
  }

  /** Copies a message into free blocks. */
  #write(message: Uint8Array): number {
    const entry = this.#takeBlock()
    this.#setWord(entry, word.length, message.length)
    this.#bytes.set(message.subarray(0, firstBytes), entry * blockBytes + headBytes)
    let last = entry
    for (let done = firstBytes; done < message.length; done += furtherBytes) {
      const block = this.#takeBlock()
      this.#bytes.set(message.subarray(done, done + furtherBytes), block * blockBytes + furtherHeadBytes)
      this.#setWord(last, word.nextBlock, block)
      last = block
    }
    return entry
  }

  /** Returns false where so many blocks can only be had by dropping entries. */
  #makeRoom(blocks: number): boolean {
    while (this.#freeBlocks < blocks) if (!this.#grow()) return false
    return true
  }

  #evict(): void {
    this.#onEvict()
    this.delete(this.#oldest)
  }

  #takeBlock(): number {
    const block = this.#firstFree
    this.#firstFree = this.#word(block, word.nextBlock)
    this.#freeBlocks -= 1
    this.#setWord(block, word.nextBlock, 0)
    return block
  }

  #freeOne(block: number): void {
    this.#setWord(block, word.nextBlock, this.#firstFree)
    this.#firstFree = block
    this.#freeBlocks += 1
  }

  /** Doubles the memory. Returns false where it has its largest size. */
  #grow(): boolean {
    const before = this.#bytes.length / blockBytes
    const blocks = Math.min(this.#maxBlocks, Math.max(firstBlocks, 2 * before))
    if (blocks <= before) return false
    const bytes = Buffer.alloc(blocks * blockBytes)
    bytes.set(this.#bytes)
    this.#bytes = bytes
    this.#words = new Int32Array(bytes.buffer, bytes.byteOffset, blocks * blockWords)
    this.#doubles = new Float64Array(bytes.buffer, bytes.byteOffset, blocks * blockDoubles)
    // Block 0 is none. The free ones are taken from the front.
    for (let block = blocks - 1; block >= Math.max(1, before); block -= 1) this.#freeOne(block)
    this.#chains = new Int32Array(2 ** Math.ceil(Math.log2(blocks)))
    for (let entry = this.#oldest; entry !== 0; entry = this.#word(entry, word.newer)) this.#linkChain(entry)
    return true
  }

  #chainOf(hash: number): number {
    return hash & (this.#chains.length - 1)
  }

  #linkChain(entry: number): void {
    const chain = this.#chainOf(this.#word(entry, word.hash))
    this.#setWord(entry, word.chained, this.#chains[chain] ?? 0)
    this.#chains[chain] = entry
  }

  #unlinkChain(entry: number): void {
    const chain = this.#chainOf(this.#word(entry, word.hash))
    const next = this.#word(entry, word.chained)
    let at = this.#chains[chain] ?? 0
    if (at === entry) {
      this.#chains[chain] = next
      return
    }
    while (this.#word(at, word.chained) !== entry) at = this.#word(at, word.chained)
    this.#setWord(at, word.chained, next)
  }

  #linkNewest(entry: number): void {
    this.#setWord(entry, word.older, this.#newest)
    this.#setWord(entry, word.newer, 0)
    if (this.#newest === 0) this.#oldest = entry
    else this.#setWord(this.#newest, word.newer, entry)
    this.#newest = entry
  }

  #unlinkAge(entry: number): void {
    const older = this.#word(entry, word.older)
    const newer = this.#word(entry, word.newer)
    if (older === 0) this.#oldest = newer
    else this.#setWord(older, word.newer, newer)
    if (newer === 0) this.#newest = older
    else this.#setWord(newer, word.older, older)
  }

  #word(block: number, field: number): number {
    return this.#words[block * blockWords + field] ?? 0
  }

  #setWord(block: number, field: number, value: number): void {
    this.#words[block * blockWords + field] = value
  }

  #double(entry: number, field: number): number {
    return this.#doubles[entry * blockDoubles + field] ?? 0
  }

  #setDouble(entry: number, field: number, value: number): void {
    this.#doubles[entry * blockDoubles + field] = value
  }
}

function blocksOf(length: number): number {
  return 1 + Math.max(0, Math.ceil((length - firstBytes) / furtherBytes))
}
