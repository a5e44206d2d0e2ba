import { recordType } from './codes.ts'
import { DnsFormatError } from './errors.ts'
import { isReadableName, readName, skipName, type WireName } from './name.ts'

/**
 * Where the data of a record type has names: how many bytes precede them, and how many names there are. Data of other types has no name that may
 * be compressed, or is opaque (RFC 3597).
 */
interface NameLayout {
  readonly before: number
  readonly names: number
  /** An answer may compress these names: only those of the types of RFC 1035 (RFC 3597 4). */
  readonly compressible: boolean
}

const layouts = new Map<number, NameLayout>([
  [recordType.NS, { before: 0, names: 1, compressible: true }],
  [recordType.CNAME, { before: 0, names: 1, compressible: true }],
  [recordType.PTR, { before: 0, names: 1, compressible: true }],
  [recordType.MX, { before: 2, names: 1, compressible: true }],
  [recordType.SOA, { before: 0, names: 2, compressible: true }],
  [recordType.SRV, { before: 6, names: 1, compressible: false }],
  [recordType.DNAME, { before: 0, names: 1, compressible: false }],
])

/** One part of a record's data: bytes, or a name. */
export type DataPart =
  | { readonly kind: 'bytes'; readonly bytes: Buffer }
  | { readonly kind: 'name'; readonly name: WireName; readonly compressible: boolean }

/** Splits data of a message into its parts; pointers may lead anywhere before it. Throws DnsFormatError. */
export function readDataParts(message: Buffer, start: number, end: number, type: number): readonly DataPart[] {
  const layout = layouts.get(type)
  if (layout === undefined) return [{ kind: 'bytes', bytes: message.subarray(start, end) }]
  let at = start + layout.before
  if (at > end) throw shortData(type)
  const parts: DataPart[] = layout.before === 0 ? [] : [{ kind: 'bytes', bytes: message.subarray(start, at) }]
  for (let index = 0; index < layout.names; index++) {
    const { name, next } = readName(message, at, end)
    parts.push({ kind: 'name', name, compressible: layout.compressible })
    at = next
  }
  if (type === recordType.SOA ? end - at !== 20 : at !== end) throw shortData(type)
  if (at < end) parts.push({ kind: 'bytes', bytes: message.subarray(at, end) })
  return parts
}

/** Returns whether the names in the data can be decoded and its fields have their length. Allocates nothing. */
export function isReadableData(message: Uint8Array, start: number, end: number, type: number): boolean {
  const layout = layouts.get(type)
  if (layout === undefined) return true
  let at = start + layout.before
  for (let index = 0; index < layout.names; index++) {
    if (at > end || !isReadableName(message, at, end)) return false
    at = skipName(message, at, end)
  }
  return type === recordType.SOA ? end - at === 20 : at === end
}

/** Copies data and resolves its pointers. */
export function readData(message: Buffer, start: number, end: number, type: number): Buffer {
  const parts = readDataParts(message, start, end, type)
  return Buffer.concat(parts.map((part) => (part.kind === 'name' ? part.name : part.bytes)))
}

/** Returns the name that a record leads to (CNAME, NS, PTR, SRV, MX, DNAME); undefined for other types. */
export function targetName(type: number, data: Buffer): WireName | undefined {
  const parts = layouts.get(type)?.names === 1 ? readDataParts(data, 0, data.length, type) : []
  const last = parts.at(-1)
  return last?.kind === 'name' ? last.name : undefined
}

function shortData(type: number): DnsFormatError {
  return new DnsFormatError('rdata', `data of record type ${type} does not have the length of its fields`)
}
