import type { SetHeader } from './member-sets.ts'
import { encodeAttribute, findAttribute, type NetlinkMessage, networkOrder } from './netlink.ts'
import { encodeSetMessage, setAttribute, setHead } from './set-messages.ts'

// linux/netfilter/ipset/ip_set.h
/** NFNL_SUBSYS_IPSET with IPSET_CMD_LIST. */
const listSets = 0x607
const attribute = { ...setAttribute, typeName: 3, family: 5, flags: 6 } as const
const dataAttribute = { timeout: 6, flags: 8, maxElements: 19, elements: 24 } as const
/** IPSET_FLAG_LIST_HEADER: no members. */
const headerOnly = 1 << 2
/** IPSET_FLAG_WITH_COUNTERS */
const withCounters = 1 << 3
/** NFPROTO_IPV6 */
const ipv6 = 10

/** Asks for the header of every set, by `NetfilterSocket.list`; each answer is for `readSetHeader`. */
export function encodeSetHeaderList(): NetlinkMessage {
  const flags = Buffer.alloc(4)
  flags.writeUInt32BE(headerOnly)
  return encodeSetMessage(listSets, [encodeAttribute(attribute.flags | networkOrder, flags)])
}

/** Reads a set's name and form and how many members it has; undefined if the answer has not the kernel's form. */
export function readSetHeader(payload: Buffer): (SetHeader & { readonly name: string }) | undefined {
  const attributes = payload.subarray(setHead.length)
  const name = readText(findAttribute(attributes, attribute.setName))
  const type = readText(findAttribute(attributes, attribute.typeName))
  const family = findAttribute(attributes, attribute.family)?.[0]
  const data = findAttribute(attributes, attribute.data)
  if (name === undefined || type === undefined || family === undefined || data === undefined) return undefined
  const flags = readNumber(data, dataAttribute.flags) ?? 0
  return {
    name,
    type,
    family: family === ipv6 ? 'IPv6' : 'IPv4',
    counters: (flags & withCounters) !== 0,
    timeoutSeconds: readNumber(data, dataAttribute.timeout),
    maxElements: readNumber(data, dataAttribute.maxElements) ?? 0,
    count: readNumber(data, dataAttribute.elements) ?? 0,
  }
}

function readText(value: Buffer | undefined): string | undefined {
  return value?.toString('latin1').replace(/\0.*$/s, '')
}

function readNumber(attributes: Buffer, type: number): number | undefined {
  const value = findAttribute(attributes, type)
  return value?.length === 4 ? value.readUInt32BE() : undefined
}
