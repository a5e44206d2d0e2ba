/** A message of nfnetlink without the header of netlink, whose `type` it names. */
export interface NetlinkMessage {
  readonly type: number
  readonly payload: Buffer
  /** Makes what it names where that is not there (NLM_F_CREATE). */
  readonly creates?: true
}

// linux/netlink.h
/** NLA_F_NESTED */
export const nested = 0x8000
/** NLA_F_NET_BYTEORDER */
export const networkOrder = 0x4000
/** Bits of an attribute's type that do not tell types apart. */
const flags = nested | networkOrder

/** Encodes an attribute: its length, its type, its value, and zeros to a multiple of four. */
export function encodeAttribute(type: number, value: Buffer): Buffer {
  const bytes = Buffer.alloc((4 + value.length + 3) & ~3)
  bytes.writeUInt16LE(4 + value.length, 0)
  bytes.writeUInt16LE(type, 2)
  value.copy(bytes, 4)
  return bytes
}

/** Returns the value of the first attribute of this type, in the memory of `attributes`; undefined where there is none. */
export function findAttribute(attributes: Buffer, type: number): Buffer | undefined {
  for (let at = 0; at + 4 <= attributes.length; ) {
    const end = at + attributes.readUInt16LE(at)
    if (end < at + 4 || end > attributes.length) return undefined
    if ((attributes.readUInt16LE(at + 2) & ~flags) === type) return attributes.subarray(at + 4, end)
    at = (end + 3) & ~3
  }
  return undefined
}
