import { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { keepAliveMs } from './exchange.ts'

/** The time in which an end takes what the other one sent before it closed. */
const lastBytesMs = 10_000

/**
 * Passes bytes between two connections until one of them closes or the signal aborts, then closes the other one after it
 * has taken what was sent. The end of one direction is passed on.
 */
export async function joinConnections(one: Duplex, other: Duplex, signal: AbortSignal): Promise<void> {
  const closed = [one, other].map((each) => new Promise<void>((resolve) => each.once('close', resolve)))
  const cut = () => {
    one.destroy()
    other.destroy()
  }
  signal.addEventListener('abort', cut, { once: true })
  if (signal.aborted || one.destroyed || other.destroyed) cut()
  else {
    passOn(one, other)
    passOn(other, one)
  }
  await Promise.all(closed)
  signal.removeEventListener('abort', cut)
}

function passOn(from: Duplex, to: Duplex): void {
  from.on('error', () => {})
  if (from instanceof Socket) from.setKeepAlive(true, keepAliveMs)
  from.pipe(to)
  from.once('close', () => closeWritten(to))
}

/** Ends a connection, and closes it when it has taken what was written to it, or after 10 s. */
export function closeWritten(to: Duplex): void {
  if (to.closed) return
  to.end()
  const timer = setTimeout(() => to.destroy(), lastBytesMs)
  to.once('close', () => clearTimeout(timer))
  if (to.writableFinished) to.destroy()
  else to.once('finish', () => to.destroy())
}
