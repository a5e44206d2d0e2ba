import type { ServerResponse } from 'node:http'

/** The response size up to which the socket alone holds the bytes. */
const freeBytes = 64 * 1024
/** The time limit of a client that reads no bytes, or has not read the whole response, before it is disconnected. */
const maxUnreadMs = 60_000
const maxSendMs = 10 * 60_000

/** Bounds the time in which the client reads a long response. Called before the write; the returned function ends it. */
export function boundReading(response: ServerResponse): () => void {
  const cut = () => response.destroy()
  response.setTimeout(maxUnreadMs, cut)
  const timer = setTimeout(cut, maxSendMs)
  return () => {
    clearTimeout(timer)
    response.setTimeout(0)
  }
}

/** Resolves when the client has read nearly all of a written response, or has disconnected: until then the response costs memory. */
export async function whenRead(response: ServerResponse): Promise<void> {
  if (response.writableFinished || response.destroyed || response.writableLength <= freeBytes) return
  const endBound = boundReading(response)
  await new Promise<void>((resolve) => {
    response.once('finish', resolve).once('close', resolve)
  })
  endBound()
}
