import { badRequest, type StatusError } from '../status.ts'

/** The content of one field on the wire: its length is known, its meaning is not. */
type WireValue = bigint | Uint8Array

export interface WireField {
  readonly number: number
  /** The content: a bigint for variable and fixed-length integers (as unsigned), bytes for all other types. */
  readonly value: WireValue
  readonly type: 'varint' | 'fixed64' | 'bytes' | 'fixed32'
}

const wireTypes: Readonly<Record<number, WireField['type']>> = { 0: 'varint', 1: 'fixed64', 2: 'bytes', 5: 'fixed32' }

export function malformed(why: string, cause?: unknown): StatusError {
  return badRequest(`the body of the request is not valid protobuf: ${why}`, cause)
}

/** Yields the fields of a message in wire order (protobuf encoding, wire types 0, 1, 2, 5). Throws a 400. */
export function* readWireFields(bytes: Uint8Array): Generator<WireField> {
  const reader = new WireReader(bytes)
  while (!reader.isAtEnd) {
    const tag = reader.varint()
    const number = Number(tag >> 3n)
    const type = wireTypes[Number(tag & 7n)]
    if (type === undefined) throw malformed(`field ${number} has wire type ${tag & 7n}`)
    if (number === 0 || number > 0x1fff_ffff) throw malformed(`${number} is not a field number`)
    yield { number, type, value: reader.value(type) }
  }
}

class WireReader {
  readonly #bytes: Uint8Array
  readonly #view: DataView
  #offset = 0

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  }

  get isAtEnd(): boolean {
    return this.#offset >= this.#bytes.length
  }

  value(type: WireField['type']): WireValue {
    switch (type) {
      case 'varint':
        return this.varint()
      case 'fixed64':
        return this.#view.getBigUint64(this.#advance(8), true)
      case 'fixed32':
        return BigInt(this.#view.getUint32(this.#advance(4), true))
      case 'bytes': {
        const length = this.varint()
        const start = this.#advance(length > BigInt(this.#bytes.length) ? Infinity : Number(length))
        return this.#bytes.subarray(start, this.#offset)
      }
    }
  }

  /** Reads a varint of at most ten bytes, 64 bits. */
  varint(): bigint {
    let value = 0n
    for (let shift = 0n; shift < 70n; shift += 7n) {
      const byte = this.#bytes[this.#advance(1)] ?? 0
      value |= BigInt(byte & 0x7f) << shift
      if (byte < 0x80) return BigInt.asUintN(64, value)
    }
    throw malformed(`a number is longer than ten bytes at ${this.#offset}`)
  }

  /** Advances the position and returns the earlier one. */
  #advance(count: number): number {
    const start = this.#offset
    if (count > this.#bytes.length - start) throw malformed(`it ends within a field that starts at ${start}`)
    this.#offset += count
    return start
  }
}
