import { type NetlinkMessage, nested } from '../netlink.ts'
import { fieldsLength, writeFields } from './element-fields.ts'
import { elementAttributes, encodeListHead, messageTypes } from './element-messages.ts'
import type { SetSpec, TableName } from './types.ts'

/** Room for the head of the message and the longest list. */
const capacityBytes = 66_000
/** The longest element: two addresses of IPv6 in its key, one in its data, ports and protocols, and the heads of attributes. */
const maxElementBytes = 128
const attributeHead = 4

/** Writes many elements of one set into one message that adds them, each by its bytes alone. */
export class ElementListWriter {
  readonly #spec: SetSpec
  readonly #bytes = Buffer.alloc(capacityBytes)
  /** Where the attribute that holds the elements begins. */
  readonly #list: number
  readonly #keyBytes: number
  readonly #dataBytes: number
  #at: number
  /** Where the elements that stay end. */
  #confirmed: number

  constructor(table: TableName, spec: SetSpec) {
    const head = encodeListHead(table, spec.name)
    head.copy(this.#bytes)
    this.#spec = spec
    this.#list = head.length
    this.#at = head.length + attributeHead
    this.#confirmed = this.#at
    this.#keyBytes = fieldsLength(spec.key)
    this.#dataBytes = fieldsLength(spec.data)
  }

  /** The bytes of the elements. */
  get length(): number {
    return this.#at - this.#list - attributeHead
  }

  /** Throws RangeError for an element that is none of the set; part of it may be written then. */
  add(key: string, data: string): void {
    if ((data === '') !== (this.#spec.data.length === 0)) throw new RangeError(`${key} has other data than its set`)
    const item = this.#at
    this.#at += attributeHead
    this.#addValue(elementAttributes.key, this.#spec.key, this.#keyBytes, key)
    if (data !== '') this.#addValue(elementAttributes.data, this.#spec.data, this.#dataBytes, data)
    this.#writeHead(item, elementAttributes.item, this.#at - item)
  }

  /** Keeps everything that was added until now. */
  confirm(): void {
    this.#confirmed = this.#at
  }

  /** Takes back what was added and not confirmed. */
  takeBack(): void {
    // An element that failed halfway has written beyond the end of the list.
    this.#bytes.fill(0, this.#confirmed, Math.min(this.#at + maxElementBytes, capacityBytes))
    this.#at = this.#confirmed
  }

  /** Returns the message. Nothing can be added afterwards. */
  finish(): NetlinkMessage {
    this.#writeHead(this.#list, elementAttributes.list, this.#at - this.#list)
    return { type: messageTypes.addElements, payload: this.#bytes.subarray(0, this.#at), creates: true }
  }

  /** An attribute that holds the value as its only attribute. */
  #addValue(type: number, fields: SetSpec['key'], bytes: number, text: string): void {
    this.#writeHead(this.#at, type, 2 * attributeHead + bytes)
    this.#bytes.writeUInt16LE(attributeHead + bytes, this.#at + attributeHead)
    this.#bytes.writeUInt16LE(elementAttributes.value, this.#at + attributeHead + 2)
    const end = writeFields(fields, text, this.#bytes, this.#at + 2 * attributeHead)
    this.#at = (end + 3) & ~3
  }

  #writeHead(at: number, type: number, length: number): void {
    this.#bytes.writeUInt16LE(length, at)
    this.#bytes.writeUInt16LE(type | nested, at + 2)
  }
}
