/**
 * The data of an address or a node port: what is to be done for it in the upper half of a classid, the number of endpoints in the
 * lower half. One lookup finds both.
 */
export const addressFlags = {
  /** Masqueraded unless it comes from a pod: a cluster IP. */
  masqueradeOthers: 0x1,
  masquerade: 0x2,
  /** Only sources in `admitted` may enter. */
  guarded: 0x4,
  /** Sources outside the cluster reach endpoints of this node only. */
  local: 0x8,
  /** Clients are remembered. */
  sticky: 0x10,
} as const

/** The largest number of endpoints that the lower half holds. */
export const maxEndpoints = 0xffff

/** Prints a number of 32 bits as nft prints a classid: `12:1f`. */
export function renderClassid(value: number): string {
  return `${(value >>> 16).toString(16)}:${(value & 0xffff).toString(16)}`
}

export function parseClassid(text: string): number {
  const [upper = '', lower = ''] = text.split(':')
  return Number.parseInt(upper, 16) * 0x10000 + Number.parseInt(lower, 16)
}

/** Prints the data of an address. */
export function renderAddressData(flags: number, endpoints: number): string {
  return renderClassid(flags * 0x10000 + endpoints)
}
