/** A protobuf field with a length: bytes, text or a message put together from its own fields. */
export function bytesField(number: number, value: string | Uint8Array): Buffer {
  const bytes = Buffer.from(value)
  return Buffer.concat([varint(BigInt((number << 3) | 2)), varint(BigInt(bytes.length)), bytes])
}

export function numberField(number: number, value: bigint): Buffer {
  return Buffer.concat([varint(BigInt(number << 3)), varint(BigInt.asUintN(64, value))])
}

export function varint(value: bigint): Buffer {
  const bytes: number[] = []
  let rest = value
  do {
    bytes.push(Number(rest & 0x7fn) | (rest > 0x7fn ? 0x80 : 0))
    rest >>= 7n
  } while (rest > 0n)
  return Buffer.from(bytes)
}

/** What a Kubernetes client sends: the magic bytes and a runtime.Unknown around the message. */
export function envelope(apiVersion: string, kind: string, message: Uint8Array): Buffer {
  const typeMeta = Buffer.concat([bytesField(1, apiVersion), bytesField(2, kind)])
  return Buffer.concat([
    Buffer.from('k8s\0'),
    bytesField(1, typeMeta),
    bytesField(2, message),
    bytesField(3, ''),
    bytesField(4, ''),
  ])
}
