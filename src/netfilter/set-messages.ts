import { addressBits, type Ip, ipFamily, ipToBigInt, parseIp } from '../model/ip.ts'

/** A message of nfnetlink without the header of netlink, whose `type` it names. */
export interface SetMessage {
  readonly type: number
  readonly payload: Buffer
}

// linux/netfilter/ipset/ip_set.h and linux/netfilter/nfnetlink.h
/** NFNL_SUBSYS_IPSET with IPSET_CMD_ADD and IPSET_CMD_DEL. */
const types: Readonly<Record<string, number>> = { add: 0x609, del: 0x60a }
/** `struct nfgenmsg`: AF_INET for every set, version 0. */
const head = Buffer.from([2, 0, 0, 0])
const attribute = { protocol: 1, setName: 2, data: 7 } as const
const dataAttribute = { ip: 1, prefixLength: 3, port: 4, protocol: 7 } as const
const addressAttribute = { IPv4: 1, IPv6: 2 } as const
/** NLA_F_NESTED */
const nested = 0x8000
/** NLA_F_NET_BYTEORDER */
const networkOrder = 0x4000
/** Every kernel with ipset knows this version of the protocol. */
const protocolVersion = 6
const maxPort = 65_535
const protocols: Readonly<Record<string, number>> = { tcp: 6, udp: 17, sctp: 132 }

/**
 * Encodes `add SET ELEMENT` or `del SET ELEMENT` for the kernel. An element that is there already, or not, is no error. Returns undefined
 * for other lines and for elements other than `10.0.0.1`, `10.0.0.0/24` and `10.0.0.1,tcp:80`.
 */
export function encodeElementLine(line: string): SetMessage | undefined {
  const [verb = '', set = '', element = '', ...more] = line.split(' ')
  const type = types[verb]
  const data = encodeElement(element)
  if (type === undefined || data === undefined || more.length > 0) return undefined
  const name = encode(attribute.setName, Buffer.from(`${set}\0`))
  const version = encode(attribute.protocol, Buffer.from([protocolVersion]))
  return { type, payload: Buffer.concat([head, version, name, encode(attribute.data | nested, data)]) }
}

function encodeElement(element: string): Buffer | undefined {
  const [network = '', service, ...more] = element.split(',')
  const [address = '', prefixLength] = network.split('/')
  const ip = parseIp(address)
  const port = service === undefined ? [] : encodePort(service)
  if (ip === undefined || port === undefined || more.length > 0) return undefined
  const length =
    prefixLength === undefined ? [] : [encode(dataAttribute.prefixLength, Buffer.from([Number(prefixLength)]))]
  return Buffer.concat([encodeAddress(ip), ...length, ...port])
}

function encodeAddress(ip: Ip): Buffer {
  const family = ipFamily(ip)
  const digits = ipToBigInt(ip)
    .toString(16)
    .padStart(addressBits(family) / 4, '0')
  return encode(dataAttribute.ip | nested, encode(addressAttribute[family] | networkOrder, Buffer.from(digits, 'hex')))
}

function encodePort(service: string): readonly Buffer[] | undefined {
  const [name = '', text] = service.split(':')
  const [protocol, port] = [protocols[name], Number(text)]
  if (protocol === undefined || !(port <= maxPort)) return undefined
  const bytes = Buffer.alloc(2)
  bytes.writeUInt16BE(port)
  return [encode(dataAttribute.port | networkOrder, bytes), encode(dataAttribute.protocol, Buffer.from([protocol]))]
}

/** An attribute of netlink: its length, its type, its value, and zeros to a multiple of four. */
function encode(type: number, value: Buffer): Buffer {
  const bytes = Buffer.alloc((4 + value.length + 3) & ~3)
  bytes.writeUInt16LE(4 + value.length, 0)
  bytes.writeUInt16LE(type, 2)
  value.copy(bytes, 4)
  return bytes
}
