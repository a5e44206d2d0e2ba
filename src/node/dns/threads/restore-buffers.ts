/** Turns the Uint8Arrays in settings from another thread into Buffers again: posting them loses that. Shared memory and ports stay as they are. */
export function restoreBuffers<T>(value: T): T {
  return revive(value) as T
}

function revive(value: unknown): unknown {
  if (value instanceof Uint8Array) return Buffer.from(value.buffer, value.byteOffset, value.length)
  if (Array.isArray(value)) return value.map(revive)
  if (typeof value !== 'object' || value === null || Object.getPrototypeOf(value) !== Object.prototype) return value
  return Object.fromEntries(Object.entries(value).map(([key, held]) => [key, revive(held)]))
}
