import type { ServerResponse } from 'node:http'

/** Answers up to this size are left to the socket. */
const freeBytes = 64 * 1024
/** A client that reads nothing of its answer for that long, or is not through with it after all that time, is cut off. */
const maxUnreadMs = 60_000
const maxSendMs = 10 * 60_000

/** Bounds the time in which the client reads a long answer. To be called before it is written; the function that it gives back ends it. */
export function boundReading(response: ServerResponse): () => void {
  const cut = () => response.destroy()
  response.setTimeout(maxUnreadMs, cut)
  const timer = setTimeout(cut, maxSendMs)
  return () => {
    clearTimeout(timer)
    response.setTimeout(0)
  }
}

/** Resolves when the client has read all but little of an answer that was written, or has left: until then it costs memory. */
export async function whenRead(response: ServerResponse): Promise<void> {
  if (response.writableFinished || response.destroyed || response.writableLength <= freeBytes) return
  const endBound = boundReading(response)
  await new Promise<void>((resolve) => {
    response.once('finish', resolve).once('close', resolve)
  })
  endBound()
}
