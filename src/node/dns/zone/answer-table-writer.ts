import { readUint32, writeUint16, writeUint32 } from '../wire/bytes.ts'
import type { WireName } from '../wire/name.ts'
import { encodeBody, type PlannedName } from './answer-body.ts'
import {
  answerHeadBytes,
  emptySlot,
  entryFlag,
  entryHeadBytes,
  hashName,
  headerBytes,
  headerWord,
  removedSlot,
  type SharedTable,
  type ZoneHead,
} from './layout.ts'

/** The least capacity of a table. */
export interface TableCapacity {
  /** How many slots; a power of two. */
  readonly slots: number
  readonly heapBytes: number
}

/**
 * The capacity of a new table, enough for 10,000 Services. Memory that was never written costs nothing, while a table that moves stays until all
 * threads have let go of it.
 */
const firstCapacity: TableCapacity = { slots: 1 << 18, heapBytes: 1 << 24 }
const maxAnswers = 255

/**
 * Writes a table that other threads read. A full table is copied to a larger one, and `onMoved` receives it: readers of the old one see what it
 * held until they get the new one.
 */
export class AnswerTableWriter {
  readonly #zones: readonly ZoneHead[]
  readonly #onMoved: (table: SharedTable) => void
  readonly #capacity: TableCapacity
  #memory: SharedArrayBuffer
  #words: Int32Array
  #bytes: Buffer
  #heapEnd = 0
  #deadBytes = 0
  #usedSlots = 0
  #names = 0

  constructor(zones: readonly ZoneHead[], onMoved: (table: SharedTable) => void, capacity = firstCapacity) {
    this.#capacity = capacity
    this.#zones = zones
    this.#onMoved = onMoved
    this.#memory = new SharedArrayBuffer(headerBytes + capacity.slots * 4 + capacity.heapBytes)
    this.#words = new Int32Array(this.#memory)
    this.#bytes = Buffer.from(this.#memory)
    this.#begin(capacity.slots)
  }

  get table(): SharedTable {
    return { memory: this.#memory, zones: this.#zones }
  }

  /** How many names the table has. */
  get size(): number {
    return this.#names
  }

  set serial(seconds: number) {
    Atomics.store(this.#words, headerWord.serial, seconds | 0)
  }

  /** Marks that everything was listed: a name that is missing from now on does not exist. */
  markSynced(): void {
    Atomics.store(this.#words, headerWord.synced, 1)
  }

  /** Writes a name. Returns false where the table holds exactly that already. */
  put(zone: number, planned: PlannedName): boolean {
    const entry = encodeEntry(zone, planned)
    const hash = readUint32(entry, 0)
    const slot = this.#find(planned.name, hash)
    const at = slot === -1 ? 0 : Atomics.load(this.#words, slot) * 4
    if (at > 0 && this.#bytes.compare(entry, 0, entry.length, at, at + entry.length) === 0) return false
    this.#ensureSpace(entry.length)
    const position = this.#append(entry)
    // The table may have moved, so the slot is found again.
    const known = this.#find(planned.name, hash)
    if (known === -1) this.#insert(hash, position)
    else this.#replace(known, position)
    return true
  }

  remove(name: WireName): boolean {
    const slot = this.#find(name, hashName(name, 0, name.length) >>> 0)
    if (slot === -1) return false
    this.#deadBytes += entryLength(this.#bytes, Atomics.load(this.#words, slot) * 4)
    this.#names -= 1
    Atomics.store(this.#words, slot, removedSlot)
    return true
  }

  #begin(slots: number): void {
    this.#heapEnd = headerBytes + slots * 4
    this.#deadBytes = 0
    this.#usedSlots = 0
    this.#names = 0
    this.#words[headerWord.slotCount] = slots
  }

  get #slots(): number {
    return this.#words[headerWord.slotCount] ?? 0
  }

  /** Returns the index of the name's slot among the words, or -1. */
  #find(name: WireName, hash: number): number {
    const mask = this.#slots - 1
    for (let probe = hash & mask; ; probe = (probe + 1) & mask) {
      const word = headerBytes / 4 + probe
      const position = this.#words[word] ?? emptySlot
      if (position === emptySlot) return -1
      if (position !== removedSlot && this.#isNamed(position * 4, hash, name)) return word
    }
  }

  #isNamed(at: number, hash: number, name: WireName): boolean {
    const start = at + entryHeadBytes
    return (
      this.#bytes.readUInt32BE(at) === hash &&
      this.#bytes[at + 4] === name.length &&
      this.#bytes.compare(name, 0, name.length, start, start + name.length) === 0
    )
  }

  #append(entry: Buffer): number {
    const at = this.#heapEnd
    entry.copy(this.#bytes, at)
    this.#heapEnd = align(at + entry.length)
    return at
  }

  #insert(hash: number, at: number): void {
    const mask = this.#slots - 1
    let probe = hash & mask
    while ((this.#words[headerBytes / 4 + probe] ?? emptySlot) !== emptySlot) probe = (probe + 1) & mask
    this.#usedSlots += 1
    this.#names += 1
    Atomics.store(this.#words, headerBytes / 4 + probe, at / 4)
  }

  #replace(slot: number, at: number): void {
    this.#deadBytes += entryLength(this.#bytes, Atomics.load(this.#words, slot) * 4)
    Atomics.store(this.#words, slot, at / 4)
  }

  #ensureSpace(length: number): void {
    const heapFull = align(this.#heapEnd + length) > this.#bytes.length
    if (!heapFull && (this.#usedSlots + 1) * 2 <= this.#slots) return
    this.#move(length)
  }

  /** Moves to a table with twice the space that live entries take. Entries that were replaced or removed are left behind. */
  #move(needed: number): void {
    const old = { words: this.#words, bytes: this.#bytes, slots: this.#slots, names: this.#names }
    const live = this.#heapEnd - headerBytes - old.slots * 4 - this.#deadBytes
    const slots = slotsFor(old.names + 1, this.#capacity.slots)
    const heap = align(Math.max(this.#capacity.heapBytes, (live + needed) * 2))
    this.#memory = new SharedArrayBuffer(headerBytes + slots * 4 + heap)
    this.#words = new Int32Array(this.#memory)
    this.#bytes = Buffer.from(this.#memory)
    this.#begin(slots)
    this.#words[headerWord.serial] = old.words[headerWord.serial] ?? 0
    this.#words[headerWord.synced] = old.words[headerWord.synced] ?? 0
    for (let slot = 0; slot < old.slots; slot++) {
      const position = old.words[headerBytes / 4 + slot] ?? emptySlot
      if (position === emptySlot || position === removedSlot) continue
      const entry = old.bytes.subarray(position * 4, position * 4 + entryLength(old.bytes, position * 4))
      this.#insert(entry.readUInt32BE(0), this.#append(entry))
    }
    this.#onMoved(this.table)
  }
}

/** Returns a number of slots of which names fill at most a third, so that probes stay short. */
function slotsFor(names: number, least: number): number {
  let slots = least
  while (slots < names * 3) slots *= 2
  return slots
}

function align(length: number): number {
  return (length + 3) & ~3
}

function encodeEntry(zone: number, { name, answers, podParent }: PlannedName): Buffer {
  const bodies = answers.slice(0, maxAnswers).map((answer) => ({ type: answer.type, body: encodeBody(name, answer) }))
  const length = bodies.reduce((sum, { body }) => sum + answerHeadBytes + body.bytes.length, 0)
  const entry = Buffer.allocUnsafe(entryHeadBytes + name.length + length)
  writeUint32(entry, 0, hashName(name, 0, name.length) >>> 0)
  entry[4] = name.length
  entry[5] = zone
  entry[6] = podParent === true ? entryFlag.podParent : 0
  entry[7] = bodies.length
  let at = entryHeadBytes + name.copy(entry, entryHeadBytes)
  for (const { type, body } of bodies) {
    writeUint16(entry, at, type)
    writeUint16(entry, at + 2, body.answers)
    writeUint16(entry, at + 4, body.additional)
    writeUint16(entry, at + 6, body.stride)
    writeUint32(entry, at + 8, body.bytes.length)
    at += answerHeadBytes + body.bytes.copy(entry, at + answerHeadBytes)
  }
  return entry
}

/** Returns the length of an entry without the padding behind it. */
function entryLength(bytes: Buffer, at: number): number {
  let end = at + entryHeadBytes + (bytes[at + 4] ?? 0)
  for (let answer = 0; answer < (bytes[at + 7] ?? 0); answer++) end += answerHeadBytes + bytes.readUInt32BE(end + 8)
  return end - at
}
