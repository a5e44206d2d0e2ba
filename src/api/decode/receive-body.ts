import type { IncomingMessage } from 'node:http'
import { tooLarge, tooManyRequests } from '../status.ts'
import { maxBodyBytes } from './limits.ts'

const received = new WeakMap<IncomingMessage, Uint8Array>()

/**
 * Collects the body before the request takes a slot, because a client may send it slowly. `mayHold` decides whether the announced or received
 * bytes may be held. Throws a 413 as soon as the body is known to be too large, and a 429 where it may not be held.
 */
export async function receiveBody(request: IncomingMessage, mayHold: (bytes: number) => boolean): Promise<void> {
  const announced = Number(request.headers['content-length'] ?? 0)
  if (announced > maxBodyBytes) throw tooLarge(maxBodyBytes)
  if (!mayHold(announced)) throw tooManyRequests()
  const body = await new Promise<Uint8Array>((resolve, reject) => {
    const chunks: Uint8Array[] = []
    let bytes = 0
    request.on('data', (chunk: Uint8Array) => {
      bytes += chunk.length
      if (bytes > maxBodyBytes) reject(tooLarge(maxBodyBytes))
      else if (bytes <= announced || mayHold(bytes)) chunks.push(chunk)
      else reject(tooManyRequests())
    })
    request.once('end', () => resolve(joinChunks(chunks)))
    request.once('error', reject)
    // Every request closes at its end: an error, which costs a stack trace, is created only for an incomplete one.
    request.once('close', () => {
      if (!request.complete) reject(new Error('the client left before its request was whole'))
    })
  })
  received.set(request, body)
}

/** Returns the body that `receiveBody` collected; empty where it was not called. */
export function bodyOf(request: IncomingMessage): Uint8Array {
  return received.get(request) ?? new Uint8Array()
}

/** Joins the chunks of a body; most bodies have one. */
function joinChunks(chunks: readonly Uint8Array[]): Uint8Array {
  const [only, ...more] = chunks
  return only !== undefined && more.length === 0 ? only : Buffer.concat(chunks)
}
