import { type Ip, ipFromBytes, ipToBigInt } from '../../model/ip.ts'
import { parseClassid, renderClassid } from './address-data.ts'
import type { NftType } from './types.ts'

/** Stands between the fields of a key or of data, as nft prints them. */
export const separator = ' . '

const fieldBytes: Readonly<Record<NftType, number>> = {
  ipv4_addr: 4,
  ipv6_addr: 16,
  inet_proto: 1,
  inet_service: 2,
  classid: 4,
}
const protocols: Readonly<Record<number, string>> = { 6: 'tcp', 17: 'udp', 132: 'sctp' }

/** The bytes of the last field, which is a network in a set of intervals. */
export function lastFieldBytes(types: readonly NftType[]): number {
  return fieldBytes[types.at(-1) ?? 'classid']
}

/** Reads the bytes of a key or of data as the kernel has them; undefined for another number of bytes. Each field of several takes a multiple of four bytes; one alone takes its own size. */
export function decodeFields(types: readonly NftType[], bytes: Buffer): string[] | undefined {
  const texts: string[] = []
  let at = 0
  for (const type of types) {
    const size = fieldBytes[type]
    if (at + size > bytes.length) return undefined
    texts.push(decodeField(type, bytes.subarray(at, at + size)))
    at += types.length === 1 ? size : (size + 3) & ~3
  }
  return at === bytes.length ? texts : undefined
}

/** Writes a key or data as the kernel has it. Throws RangeError for a text without these fields. */
export function encodeFields(types: readonly NftType[], text: string): Buffer {
  const fields = text.split(separator)
  if (fields.length !== types.length) throw new RangeError(`${JSON.stringify(text)} has not ${types.length} fields`)
  return Buffer.concat(
    types.map((type, index) => {
      const bytes = encodeField(type, fields[index] ?? '')
      const padding = types.length === 1 ? 0 : -bytes.length & 3
      return Buffer.concat([bytes, Buffer.alloc(padding)])
    }),
  )
}

function decodeField(type: NftType, bytes: Buffer): string {
  if (type === 'inet_service') return String(bytes.readUInt16BE(0))
  if (type === 'inet_proto') return protocols[bytes[0] ?? 0] ?? String(bytes[0])
  // A classid has the byte order of the machine.
  return type === 'classid' ? renderClassid(bytes.readUInt32LE(0)) : (ipFromBytes(bytes) ?? '')
}

function encodeField(type: NftType, text: string): Buffer {
  const bytes = Buffer.alloc(fieldBytes[type])
  if (type === 'inet_service') bytes.writeUInt16BE(Number(text))
  else if (type === 'inet_proto') bytes[0] = protocolNumber(text)
  else if (type === 'classid') bytes.writeUInt32LE(parseClassid(text))
  else
    bytes.write(
      ipToBigInt(text as Ip)
        .toString(16)
        .padStart(bytes.length * 2, '0'),
      'hex',
    )
  return bytes
}

function protocolNumber(text: string): number {
  const [number] = Object.entries(protocols).find(([, name]) => name === text) ?? [text]
  return Number(number)
}
