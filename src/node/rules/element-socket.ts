import type { NetfilterSocket } from '../../host/index.ts'
import { encodeElementLine } from '../../netfilter/set-messages.ts'

export type ElementSocket = Pick<NetfilterSocket, 'request'>

/** The event loop waits for the socket: this many elements take 5 ms, and the program is quicker beyond. */
const maxElements = 128

/**
 * Writes lines of `ipset restore -exist` by the socket. Returns whether all are written; after false some may be, and a program
 * may write all of them again.
 */
export function writeElements(socket: ElementSocket | undefined, lines: readonly string[]): boolean {
  if (socket === undefined || lines.length > maxElements) return false
  const messages = lines.map(encodeElementLine).filter((message) => message !== undefined)
  return messages.length === lines.length && messages.every((message) => socket.request(message))
}
