import type { NetfilterSocket } from '../../host/index.ts'
import { isOwnSet, type SetHeader } from '../../netfilter/member-sets.ts'
import { encodeSetHeaderList, readSetHeader } from '../../netfilter/set-list-messages.ts'
import { encodeElementLine } from '../../netfilter/set-messages.ts'

export type ElementSocket = Pick<NetfilterSocket, 'request'>
/** Writes elements and lists sets. */
export type SetSocket = Pick<NetfilterSocket, 'request' | 'list'>

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

/** Lists our sets of both families without their members, in some ten microseconds; undefined where the kernel gave no complete list. */
export async function listSetHeaders(socket: SetSocket): Promise<ReadonlyMap<string, SetHeader> | undefined> {
  const headers = new Map<string, SetHeader>()
  const end = await socket.list(encodeSetHeaderList(), (payload) => {
    const listed = readSetHeader(payload)
    if (listed === undefined) return false
    const { name, ...header } = listed
    if (isOwnSet(name)) headers.set(name, header)
    return true
  })
  return end === 'complete' ? headers : undefined
}
