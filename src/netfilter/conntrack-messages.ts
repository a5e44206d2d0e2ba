import { type Ip, type IpFamily, ipFromBytes } from '../model/ip.ts'
import { protocolsWithPorts } from '../model/protocol-numbers.ts'
import { encodeAttribute, findAttribute, type NetlinkMessage, nested } from './netlink.ts'

/** A connection as the kernel lists it. */
export interface ListedConnection {
  /** The number that IANA has given it: 6 TCP, 17 UDP. */
  readonly protocol: number
  /** The client, before any translation. */
  readonly source: Ip
  /** The destination of the client's packets, before any translation. */
  readonly destination: Ip
  /** The end that answers: the destination after all translation. */
  readonly replySource: Ip
  /** The port that answers; 0 for protocols without ports. */
  readonly replySourcePort: number
  /** Deletes this connection alone; the kernel answers ENOENT where it is gone. */
  readonly deletion: NetlinkMessage
}

// linux/netfilter/nfnetlink.h and nfnetlink_conntrack.h
/** NFNL_SUBSYS_CTNETLINK with IPCTNL_MSG_CT_GET and IPCTNL_MSG_CT_DELETE. */
const types = { get: 0x101, delete: 0x102 } as const
/** `struct nfgenmsg`: AF_INET or AF_INET6, version 0. */
const heads = { IPv4: Buffer.from([2, 0, 0, 0]), IPv6: Buffer.from([10, 0, 0, 0]) } as const
const headBytes = 4
/** `enum ctattr_type` */
const attribute = { original: 1, reply: 2, id: 12, zone: 18 } as const
/** `enum ctattr_tuple` */
const tupleAttribute = { ip: 1, protocol: 2 } as const
/** `enum ctattr_ip`: IPv4, IPv6 */
const [sources, destinations] = [
  [1, 3],
  [2, 4],
]
/** `enum ctattr_l4proto` */
const protocolAttribute = { number: 1, sourcePort: 2 } as const

/** Encodes the request for a list of all connections of a family. */
export function encodeConnectionList(family: IpFamily): NetlinkMessage {
  return { type: types.get, payload: heads[family] }
}

/** Reads an answer to `encodeConnectionList`; undefined if it is no connection in the form of the kernel. */
export function readConnection(payload: Buffer): ListedConnection | undefined {
  const attributes = payload.subarray(headBytes)
  const [original, reply] = [findAttribute(attributes, attribute.original), findAttribute(attributes, attribute.reply)]
  const id = findAttribute(attributes, attribute.id)
  if (original === undefined || reply === undefined || id === undefined) return undefined
  const [source, destination] = [readAddress(original, sources), readAddress(original, destinations)]
  const [replySource, service] = [readAddress(reply, sources), readService(reply)]
  if (source === undefined || destination === undefined || replySource === undefined || service === undefined)
    return undefined
  const deletion = encodeDeletion(payload.subarray(0, headBytes), { reply, id, attributes })
  return { source, destination, replySource, ...service, deletion }
}

/**
 * The tuple of the reply names the server, and the id, a hash of the original tuple, the client: a connection that took the place of
 * the listed one with another server is not deleted. A message without a tuple would delete all connections.
 */
function encodeDeletion(
  head: Buffer,
  { reply, id, attributes }: { readonly reply: Buffer; readonly id: Buffer; readonly attributes: Buffer },
): NetlinkMessage {
  const zone = findAttribute(attributes, attribute.zone)
  const parts = [head, encodeAttribute(attribute.reply | nested, reply), encodeAttribute(attribute.id, id)]
  if (zone !== undefined) parts.push(encodeAttribute(attribute.zone, zone))
  return { type: types.delete, payload: Buffer.concat(parts) }
}

function readAddress(tuple: Buffer, sides: readonly number[]): Ip | undefined {
  const addresses = findAttribute(tuple, tupleAttribute.ip)
  if (addresses === undefined) return undefined
  for (const type of sides) {
    const bytes = findAttribute(addresses, type)
    if (bytes !== undefined) return ipFromBytes(bytes)
  }
  return undefined
}

function readService(tuple: Buffer): Pick<ListedConnection, 'protocol' | 'replySourcePort'> | undefined {
  const service = findAttribute(tuple, tupleAttribute.protocol)
  const protocol = service && findAttribute(service, protocolAttribute.number)?.[0]
  if (service === undefined || protocol === undefined) return undefined
  if (!protocolsWithPorts.has(protocol)) return { protocol, replySourcePort: 0 }
  const port = findAttribute(service, protocolAttribute.sourcePort)
  return port?.length === 2 ? { protocol, replySourcePort: port.readUInt16BE(0) } : undefined
}
