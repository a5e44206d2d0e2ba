import { ipFromBytes } from '../../model/ip.ts'
import { renderClassid } from './address-data.ts'
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
const protocolNumbers = new Map(Object.entries(protocols).map(([number, name]) => [name, Number(number)]))

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

/** Counts the bytes of a key or of data as the kernel has them. */
export function fieldsLength(types: readonly NftType[]): number {
  return types.reduce((sum, type) => sum + (types.length === 1 ? fieldBytes[type] : (fieldBytes[type] + 3) & ~3), 0)
}

/** Writes a key or data as the kernel has it. Throws RangeError for a text without these fields. */
export function encodeFields(types: readonly NftType[], text: string): Buffer {
  const bytes = Buffer.alloc(fieldsLength(types))
  writeFields(types, text, bytes, 0)
  return bytes
}

/** Writes a key or data at a place where all bytes are zero; returns its end. Throws RangeError for a text without these fields. */
export function writeFields(types: readonly NftType[], text: string, bytes: Buffer, start: number): number {
  let at = start
  let from = 0
  for (let index = 0; index < types.length; index++) {
    const type = types[index] ?? 'classid'
    const isLast = index === types.length - 1
    const to = isLast ? text.length : text.indexOf(separator, from)
    if (to === -1) throw new RangeError(`${JSON.stringify(text)} has not ${types.length} fields`)
    writeField(type, text.slice(from, to), bytes, at)
    at += types.length === 1 ? fieldBytes[type] : (fieldBytes[type] + 3) & ~3
    from = to + separator.length
  }
  return at
}

function decodeField(type: NftType, bytes: Buffer): string {
  if (type === 'inet_service') return String(bytes.readUInt16BE(0))
  if (type === 'inet_proto') return protocols[bytes[0] ?? 0] ?? String(bytes[0])
  // A classid has the byte order of the machine.
  return type === 'classid' ? renderClassid(bytes.readUInt32LE(0)) : (ipFromBytes(bytes) ?? '')
}

function writeField(type: NftType, text: string, bytes: Buffer, at: number): void {
  if (type === 'inet_service') bytes.writeUInt16BE(readNumber(text, 10, 0xffff), at)
  else if (type === 'inet_proto') bytes[at] = protocolNumbers.get(text) ?? readNumber(text, 10, 0xff)
  else if (type === 'classid') writeClassid(text, bytes, at)
  else if (type === 'ipv4_addr') writeIpv4(text, bytes, at)
  else writeIpv6(text, bytes, at)
}

/** Reads a number of digits alone. */
function readNumber(text: string, radix: 10 | 16, max: number): number {
  let value = 0
  for (let index = 0; index < text.length; index++) {
    const digit = digitOf(text.charCodeAt(index))
    if (digit >= radix) throw new RangeError(`${JSON.stringify(text)} is no number`)
    value = value * radix + digit
    if (value > max) throw new RangeError(`${JSON.stringify(text)} is more than ${max}`)
  }
  if (text === '') throw new RangeError('a number is missing')
  return value
}

/** Returns the value of `0` to `9` and `a` to `f`; a large number for any other character. */
function digitOf(code: number): number {
  if (code >= 0x30 && code <= 0x39) return code - 0x30
  return code >= 0x61 && code <= 0x66 ? code - 0x61 + 10 : Number.POSITIVE_INFINITY
}

function writeClassid(text: string, bytes: Buffer, at: number): void {
  const colon = text.indexOf(':')
  bytes.writeUInt16LE(readNumber(text.slice(colon + 1), 16, 0xffff), at)
  bytes.writeUInt16LE(readNumber(text.slice(0, Math.max(colon, 0)), 16, 0xffff), at + 2)
}

function writeIpv4(text: string, bytes: Buffer, at: number): void {
  let from = 0
  for (let octet = 0; octet < 4; octet++) {
    const dot = octet === 3 ? text.length : text.indexOf('.', from)
    bytes[at + octet] = readNumber(text.slice(from, Math.max(dot, from)), 10, 0xff)
    from = dot + 1
  }
}

/** The canonical text has no dots: `fd00::1`. */
function writeIpv6(text: string, bytes: Buffer, at: number): void {
  const [head = '', tail, ...more] = text.split('::')
  const first = head === '' ? [] : head.split(':')
  const last = tail === undefined || tail === '' ? [] : tail.split(':')
  const count = first.length + last.length
  if (more.length > 0 || (tail === undefined ? count !== 8 : count > 7))
    throw new RangeError(`${JSON.stringify(text)} is no address of IPv6`)
  for (const [index, group] of first.entries()) bytes.writeUInt16BE(readNumber(group, 16, 0xffff), at + 2 * index)
  for (const [index, group] of last.entries())
    bytes.writeUInt16BE(readNumber(group, 16, 0xffff), at + 2 * (8 - last.length + index))
}
