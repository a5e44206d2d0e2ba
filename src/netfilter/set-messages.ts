import { addressBits, type Ip, ipFamily, ipToBigInt, parseIp } from '../model/ip.ts'
import { encodeAttribute, type NetlinkMessage, nested, networkOrder } from './netlink.ts'

// linux/netfilter/ipset/ip_set.h and linux/netfilter/nfnetlink.h
/** NFNL_SUBSYS_IPSET with IPSET_CMD_ADD and IPSET_CMD_DEL. */
const types: Readonly<Record<string, number>> = { add: 0x609, del: 0x60a }
/** `struct nfgenmsg`: AF_INET for every set, version 0. */
export const setHead = Buffer.from([2, 0, 0, 0])
export const setAttribute = { protocol: 1, setName: 2, data: 7 } as const
const dataAttribute = { ip: 1, prefixLength: 3, port: 4, protocol: 7, secondIp: 20 } as const
const addressAttribute = { IPv4: 1, IPv6: 2 } as const
/** Every kernel with ipset knows this version of the protocol. */
const protocolVersion = 6
const maxPort = 65_535
const protocols: Readonly<Record<string, number>> = { tcp: 6, udp: 17, sctp: 132 }

/**
 * Encodes `add SET ELEMENT` or `del SET ELEMENT` for the kernel. An element that is there already, or not, is no error. Returns undefined
 * for other lines and for elements other than `10.0.0.1`, `10.0.0.0/24`, `10.0.0.1,tcp:80` and `10.0.0.1,6:80,10.0.0.2`.
 */
export function encodeElementLine(line: string): NetlinkMessage | undefined {
  const [verb = '', set = '', element = '', ...more] = line.split(' ')
  const type = types[verb]
  const data = encodeElement(element)
  if (type === undefined || data === undefined || more.length > 0) return undefined
  const name = encodeAttribute(setAttribute.setName, Buffer.from(`${set}\0`))
  return encodeSetMessage(type, [name, encodeAttribute(setAttribute.data | nested, data)])
}

/** Makes a message of ipset: the head, the version of the protocol, then these attributes. */
export function encodeSetMessage(type: number, attributes: readonly Buffer[]): NetlinkMessage {
  const version = encodeAttribute(setAttribute.protocol, Buffer.from([protocolVersion]))
  return { type, payload: Buffer.concat([setHead, version, ...attributes]) }
}

function encodeElement(element: string): Buffer | undefined {
  const [network = '', service, client, ...more] = element.split(',')
  const [address = '', prefixLength] = network.split('/')
  const ip = parseIp(address)
  const port = service === undefined ? [] : encodePort(service)
  const second = client === undefined ? [] : encodeSecondIp(client)
  if (ip === undefined || port === undefined || second === undefined || more.length > 0) return undefined
  const length =
    prefixLength === undefined ? [] : [encodeAttribute(dataAttribute.prefixLength, Buffer.from([Number(prefixLength)]))]
  return Buffer.concat([encodeAddress(dataAttribute.ip, ip), ...length, ...port, ...second])
}

function encodeSecondIp(text: string): readonly Buffer[] | undefined {
  const ip = parseIp(text)
  return ip === undefined ? undefined : [encodeAddress(dataAttribute.secondIp, ip)]
}

function encodeAddress(type: number, ip: Ip): Buffer {
  const family = ipFamily(ip)
  const digits = ipToBigInt(ip)
    .toString(16)
    .padStart(addressBits(family) / 4, '0')
  return encodeAttribute(
    type | nested,
    encodeAttribute(addressAttribute[family] | networkOrder, Buffer.from(digits, 'hex')),
  )
}

function encodePort(service: string): readonly Buffer[] | undefined {
  const [name = '', text] = service.split(':')
  const [protocol, port] = [protocols[name] ?? parseProtocol(name), Number(text)]
  if (protocol === undefined || !(port <= maxPort)) return undefined
  const bytes = Buffer.alloc(2)
  bytes.writeUInt16BE(port)
  return [
    encodeAttribute(dataAttribute.port | networkOrder, bytes),
    encodeAttribute(dataAttribute.protocol, Buffer.from([protocol])),
  ]
}

/** Reads a protocol's number, of which a set keeps the port only where `protocolsWithPorts` has it. */
function parseProtocol(text: string): number | undefined {
  const number = Number(text)
  return /^\d{1,3}$/.test(text) && number > 0 && number <= 255 ? number : undefined
}
