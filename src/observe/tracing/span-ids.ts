import { randomFillSync } from 'node:crypto'

/** One call of the system's generator serves many IDs. */
const pool = Buffer.alloc(4096)
let used = pool.length

/** Returns a trace ID: 16 random bytes in hexadecimal. */
export function newTraceId(): string {
  return randomHex(16)
}

/** Returns a span ID: 8 random bytes in hexadecimal. */
export function newSpanId(): string {
  return randomHex(8)
}

/** All zero is no ID (W3C Trace Context, sections 3.2.2.3 and 3.2.2.4). */
function randomHex(bytes: number): string {
  if (used + bytes > pool.length) {
    randomFillSync(pool)
    used = 0
  }
  const text = pool.toString('hex', used, used + bytes)
  used += bytes
  return /[^0]/.test(text) ? text : randomHex(bytes)
}
