const lengthBytes = 2

/** Splits a TCP stream into messages (RFC 1035 4.2.2): two bytes of length, then the message. */
export class FrameReader {
  #kept: Buffer[] = []
  #keptBytes = 0

  /** A message has begun and not ended. */
  get isPartial(): boolean {
    return this.#keptBytes > 0
  }

  /** Returns the messages that this chunk completes. They may share the memory of the chunk. */
  push(chunk: Buffer): Buffer[] {
    this.#kept.push(chunk)
    this.#keptBytes += chunk.length
    if (this.#keptBytes < lengthBytes || this.#keptBytes < this.#wantedBytes()) return []
    const bytes = this.#kept.length === 1 ? chunk : Buffer.concat(this.#kept)
    return this.#split(bytes)
  }

  #wantedBytes(): number {
    const [first, second] = this.#kept
    if (first === undefined) return lengthBytes
    const low = first.length > 1 ? first[1] : second?.[0]
    return lengthBytes + (first[0] ?? 0) * 256 + (low ?? 0)
  }

  #split(bytes: Buffer): Buffer[] {
    const frames: Buffer[] = []
    let at = 0
    while (at + lengthBytes <= bytes.length) {
      const end = at + lengthBytes + bytes.readUInt16BE(at)
      if (end > bytes.length) break
      frames.push(bytes.subarray(at + lengthBytes, end))
      at = end
    }
    const rest = bytes.subarray(at)
    this.#kept = rest.length > 0 ? [rest] : []
    this.#keptBytes = rest.length
    return frames
  }
}

export function frameMessage(message: Uint8Array): Buffer {
  const frame = Buffer.allocUnsafe(lengthBytes + message.length)
  frame.writeUInt16BE(message.length, 0)
  frame.set(message, lengthBytes)
  return frame
}
