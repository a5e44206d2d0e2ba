import { ipFromBytes } from '../../model/ip.ts'
import { encodeAttribute, findAttribute, type NetlinkMessage, nested } from '../netlink.ts'
import { decodeFields, encodeFields, lastFieldBytes, separator } from './element-fields.ts'
import { type NftType, type SetElement, type SetSpec, stateKey, stateSet, stateSpec, type TableName } from './types.ts'

/** An element as the kernel lists it. */
export interface ListedElement extends SetElement {
  /** Data as nft prints it; in a verdict map, given as a set without data, the verdict: `jump draw-3`. */
  readonly data: string
  readonly comment?: string
  /** How long it stays from its making, and from now on. */
  readonly timeoutMs?: number
  readonly expiresMs?: number
}

// linux/netfilter/nf_tables.h
/** NFNL_SUBSYS_NFTABLES with NFT_MSG_GETTABLE, NFT_MSG_NEWSETELEM, NFT_MSG_GETSETELEM and NFT_MSG_DELSETELEM. */
export const messageTypes = { getTable: 0xa01, addElements: 0xa0c, getElements: 0xa0d, deleteElements: 0xa0e } as const
/** `struct nfgenmsg`: AF_INET or AF_INET6, version 0. */
const heads = { IPv4: Buffer.from([2, 0, 0, 0]), IPv6: Buffer.from([10, 0, 0, 0]) } as const
const headBytes = 4
/** `enum nft_table_attributes` */
const tableAttribute = { name: 1 } as const
/** `enum nft_set_elem_list_attributes` */
const listAttribute = { table: 1, set: 2, elements: 3 } as const
/** NFTA_LIST_ELEM and NFTA_DATA_VALUE */
const [listItem, dataValue] = [1, 1]
/** `enum nft_set_elem_attributes` */
const attribute = { key: 1, data: 2, timeout: 4, expiration: 5, userData: 6, keyEnd: 10 } as const
/** The attributes of an element and of the list of elements, for those that write many. */
export const elementAttributes = {
  list: listAttribute.elements,
  item: listItem,
  key: attribute.key,
  data: attribute.data,
  value: dataValue,
} as const
/** NFTA_DATA_VERDICT, `enum nft_verdict_attributes`, and NFT_JUMP and NFT_GOTO of `enum nft_verdicts` */
const verdictAttribute = { verdict: 2, code: 1, chain: 2 } as const
const verdictNames: Readonly<Record<number, string>> = { [-3]: 'jump', [-4]: 'goto' }
/** `enum nftnl_udata_set_elem_types` of libnftnl: the comment, with a zero byte at its end. */
const commentType = 0

/** Asks whether a table exists, by `NetfilterSocket.ask`. */
export function encodeTableQuery({ family, name }: TableName): NetlinkMessage {
  return { type: messageTypes.getTable, payload: Buffer.concat([heads[family], encodeName(tableAttribute.name, name)]) }
}

/** Asks for all elements of a set, by `NetfilterSocket.list`; each answer is for `readElements`. */
export function encodeElementList(table: TableName, set: string): NetlinkMessage {
  return { type: messageTypes.getElements, payload: encodeListHead(table, set) }
}

/** Asks for one element of a set without intervals, by `NetfilterSocket.ask`. Throws RangeError for a key that is none of the set. */
export function encodeElementQuery(table: TableName, spec: SetSpec, key: string): NetlinkMessage {
  const item = encodeItem([encodeValue(attribute.key, encodeFields(spec.key, key))])
  return { type: messageTypes.getElements, payload: encodeItems(table, spec.name, [item]) }
}

/** Adds elements to a set without intervals, or deletes them by their keys. An element that is there with the same data is no error. */
export function encodeElementChange(
  verb: 'add' | 'delete',
  table: TableName,
  spec: SetSpec,
  elements: readonly Pick<SetElement, 'key' | 'data'>[],
): NetlinkMessage {
  const items = elements.map(({ key, data }) => {
    const hasData = verb === 'add' && data !== ''
    return encodeItem([
      encodeValue(attribute.key, encodeFields(spec.key, key)),
      ...(hasData ? [encodeValue(attribute.data, encodeFields(spec.data, data))] : []),
    ])
  })
  return changeOf(verb, table, spec.name, items)
}

const encodedStateKey = encodeValue(attribute.key, encodeFields(stateSpec.key, stateKey))

/** Replaces the state's element, which must be there, by one with this comment. */
export function encodeStateChange(table: TableName, comment: string): readonly NetlinkMessage[] {
  const text = Buffer.from(`${comment}\0`)
  const userData = encodeAttribute(attribute.userData, Buffer.concat([Buffer.from([commentType, text.length]), text]))
  return [
    changeOf('delete', table, stateSet, [encodeItem([encodedStateKey])]),
    changeOf('add', table, stateSet, [encodeItem([encodedStateKey, userData])]),
  ]
}

/** Reads the generation of all tables at the time of an answer, its lower 16 bits. */
export function readGeneration(payload: Buffer): number {
  return payload.readUInt16BE(2)
}

/** Reads the elements of an answer; undefined if it is not in the form of the kernel or of that set. */
export function readElements(payload: Buffer, spec: SetSpec): readonly ListedElement[] | undefined {
  const list = findAttribute(payload.subarray(headBytes), listAttribute.elements)
  if (list === undefined) return []
  const found: ListedElement[] = []
  for (let at = 0; at + 4 <= list.length; ) {
    const end = at + list.readUInt16LE(at)
    const element = end < at + 4 || end > list.length ? undefined : readElement(list.subarray(at + 4, end), spec)
    if (element === undefined) return undefined
    found.push(element)
    at = (end + 3) & ~3
  }
  return found
}

/** Prints the bytes of a key of this set as text; undefined for another number of bytes. */
export function decodeKey(spec: SetSpec, key: Buffer): string | undefined {
  return decodeFields(spec.key, key)?.join(separator)
}

function readElement(attributes: Buffer, spec: SetSpec): ListedElement | undefined {
  const key = readKey(attributes, spec)
  const data = spec.data.length === 0 ? readVerdict(attributes) : readValue(attributes, attribute.data, spec.data)
  if (key === undefined || data === undefined) return undefined
  const comment = readComment(findAttribute(attributes, attribute.userData))
  const timeoutMs = readNumber(findAttribute(attributes, attribute.timeout))
  const expiresMs = readNumber(findAttribute(attributes, attribute.expiration))
  return {
    set: spec.name,
    key,
    data,
    ...(comment !== undefined && { comment }),
    ...(timeoutMs !== undefined && { timeoutMs }),
    ...(expiresMs !== undefined && { expiresMs }),
  }
}

/** Prints the verdict of a verdict map's element as nft does, for the verdicts of our own maps; empty where there is none. */
function readVerdict(attributes: Buffer): string {
  const verdict = findAttribute(findAttribute(attributes, attribute.data) ?? Buffer.alloc(0), verdictAttribute.verdict)
  const code = verdict && findAttribute(verdict, verdictAttribute.code)
  const chain = verdict && findAttribute(verdict, verdictAttribute.chain)
  if (code?.length !== 4) return ''
  const number = code.readInt32BE(0)
  return [verdictNames[number] ?? String(number), chain?.toString('latin1').replace(/\0.*/s, '') ?? ''].join(' ').trim()
}

function readKey(attributes: Buffer, spec: SetSpec): string | undefined {
  if (!spec.isInterval) return readValue(attributes, attribute.key, spec.key)
  const [start, end] = [readBytes(attributes, attribute.key), readBytes(attributes, attribute.keyEnd)]
  const fields = start && decodeFields(spec.key, start)
  if (start === undefined || fields === undefined) return undefined
  const size = lastFieldBytes(spec.key)
  const [first, last] = [start.subarray(-size), (end ?? start).subarray(-size)]
  return fields.join(separator) + renderRange(first, last)
}

/** Prints the length of a network's prefix, nothing for one address, and `-` with the last one for other ranges. */
function renderRange(first: Buffer, last: Buffer): string {
  if (first.equals(last)) return ''
  const [start, end] = [BigInt(`0x${first.toString('hex')}`), BigInt(`0x${last.toString('hex')}`)]
  const size = end - start + 1n
  const hostBits = size.toString(2).length - 1
  const isNetwork = size === 1n << BigInt(hostBits) && start % size === 0n
  return isNetwork ? `/${first.length * 8 - hostBits}` : `-${ipFromBytes(last) ?? ''}`
}

function readValue(attributes: Buffer, type: number, fields: readonly NftType[]): string | undefined {
  const bytes = readBytes(attributes, type)
  return bytes && decodeFields(fields, bytes)?.join(separator)
}

function readBytes(attributes: Buffer, type: number): Buffer | undefined {
  const value = findAttribute(attributes, type)
  return value && findAttribute(value, dataValue)
}

/** Libnftnl's own encoding: a byte for the type, one for the length, then the value. */
function readComment(userData: Buffer | undefined): string | undefined {
  if (userData === undefined) return undefined
  for (let at = 0; at + 2 <= userData.length; ) {
    const end = at + 2 + userData.readUInt8(at + 1)
    if (end > userData.length) return undefined
    if (userData[at] === commentType) return userData.toString('latin1', at + 2, end).replace(/\0+$/, '')
    at = end
  }
  return undefined
}

function readNumber(bytes: Buffer | undefined): number | undefined {
  return bytes?.length === 8 ? Number(bytes.readBigUInt64BE(0)) : undefined
}

function changeOf(verb: 'add' | 'delete', table: TableName, set: string, items: readonly Buffer[]): NetlinkMessage {
  const payload = encodeItems(table, set, items)
  return verb === 'add'
    ? { type: messageTypes.addElements, payload, creates: true }
    : { type: messageTypes.deleteElements, payload }
}

function encodeValue(type: number, bytes: Buffer): Buffer {
  return encodeAttribute(type | nested, encodeAttribute(dataValue, bytes))
}

function encodeItem(attributes: readonly Buffer[]): Buffer {
  return encodeAttribute(listItem | nested, Buffer.concat(attributes))
}

function encodeItems(table: TableName, set: string, items: readonly Buffer[]): Buffer {
  return Buffer.concat([
    encodeListHead(table, set),
    encodeAttribute(listAttribute.elements | nested, Buffer.concat(items)),
  ])
}

/** Encodes what precedes the elements of a set in a message about them. */
export function encodeListHead({ family, name }: TableName, set: string): Buffer {
  return Buffer.concat([heads[family], encodeName(listAttribute.table, name), encodeName(listAttribute.set, set)])
}

function encodeName(type: number, name: string): Buffer {
  return encodeAttribute(type, Buffer.from(`${name}\0`))
}
