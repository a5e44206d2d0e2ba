/** Read and write big-endian numbers. Bytes beyond the end read as 0; callers check lengths. */
export function readUint16(bytes: Uint8Array, at: number): number {
  return ((bytes[at] ?? 0) << 8) | (bytes[at + 1] ?? 0)
}

export function writeUint16(out: Uint8Array, at: number, value: number): void {
  out[at] = (value >>> 8) & 0xff
  out[at + 1] = value & 0xff
}

export function writeUint32(out: Uint8Array, at: number, value: number): void {
  writeUint16(out, at, value >>> 16)
  writeUint16(out, at + 2, value & 0xffff)
}

export function readUint32(bytes: Uint8Array, at: number): number {
  return readUint16(bytes, at) * 0x1_0000 + readUint16(bytes, at + 2)
}

/** Copies the first `length` bytes, with one object less than a copy of a view. */
export function copyBytes(bytes: Buffer, length: number): Buffer {
  const copy = Buffer.allocUnsafe(length)
  bytes.copy(copy, 0, 0, length)
  return copy
}
