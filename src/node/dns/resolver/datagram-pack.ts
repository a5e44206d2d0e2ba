import { sourceBytes } from '../../../host/datagrams/index.ts'

const firstBytes = 16_384
/** Before each datagram: its length, then its source. */
const headBytes = 2 + sourceBytes

/** Datagrams with their sources in one piece of memory, which crosses to another thread as one object. */
export class DatagramPack {
  #memory = Buffer.allocUnsafeSlow(firstBytes)
  #length = 0
  #count = 0

  /** How many datagrams were added since the last `take`. */
  get count(): number {
    return this.#count
  }

  get isEmpty(): boolean {
    return this.#length === 0
  }

  /** Copies the datagram in the first `length` bytes. */
  add(bytes: Buffer, length: number, source: Buffer): void {
    const at = this.#length
    this.#count += 1
    this.#length = at + headBytes + length
    if (this.#length > this.#memory.length) this.#grow()
    this.#memory.writeUInt16LE(length, at)
    source.copy(this.#memory, at + 2)
    bytes.copy(this.#memory, at + headBytes, 0, length)
  }

  /** Returns a copy of what was added since the last time. */
  take(): Uint8Array {
    const packed = new Uint8Array(this.#memory.subarray(0, this.#length))
    this.#length = 0
    this.#count = 0
    return packed
  }

  #grow(): void {
    const larger = Buffer.allocUnsafeSlow(2 * this.#length)
    this.#memory.copy(larger)
    this.#memory = larger
  }
}

/** Calls `each` with views of the datagrams and their sources. */
export function unpackDatagrams(packed: Uint8Array, each: (bytes: Buffer, source: Buffer) => void): void {
  const memory = Buffer.from(packed.buffer, packed.byteOffset, packed.length)
  for (let at = 0; at < memory.length; ) {
    const bytesAt = at + headBytes
    const end = bytesAt + memory.readUInt16LE(at)
    each(memory.subarray(bytesAt, end), memory.subarray(at + 2, bytesAt))
    at = end
  }
}
