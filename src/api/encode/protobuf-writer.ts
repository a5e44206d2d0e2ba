/** Encodes an integer in as few bytes as possible; negative ones take ten (protobuf encoding, wire type 0). */
export function varint(value: number | bigint): Uint8Array {
  const bytes: number[] = []
  let rest = BigInt.asUintN(64, BigInt(value))
  do {
    bytes.push(Number(rest & 0x7fn) | (rest > 0x7fn ? 0x80 : 0))
    rest >>= 7n
  } while (rest > 0n)
  return Uint8Array.from(bytes)
}

export function doubleBytes(value: number): Uint8Array {
  const bytes = Buffer.alloc(8)
  bytes.writeDoubleLE(value)
  return bytes
}

/** The wire type: 0 an integer, 1 eight bytes, 2 bytes with their length. */
export type WireType = 0 | 1 | 2

/** Encodes a field: its tag, its length where it has one, its content. */
export function writeField(number: number, wireType: WireType, content: Uint8Array): readonly Uint8Array[] {
  const tag = varint((number << 3) | wireType)
  return wireType === 2 ? [tag, varint(content.length), content] : [tag, content]
}

/** Encodes a field that holds a text or an encoded message. */
export function bytesField(number: number, content: string | Uint8Array): readonly Uint8Array[] {
  return writeField(number, 2, typeof content === 'string' ? Buffer.from(content) : content)
}
