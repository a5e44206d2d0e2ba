import { encodeAttribute, findAttribute, type NetlinkMessage } from '../netlink.ts'
import type { TableName } from './types.ts'

/** The kinds of parts of a table beside elements. */
export type TablePart = 'set' | 'chain' | 'rule'

// linux/netfilter/nf_tables.h
/** NFNL_SUBSYS_NFTABLES with NFT_MSG_GETSET, NFT_MSG_GETCHAIN and NFT_MSG_GETRULE. */
const listTypes: Readonly<Record<TablePart, number>> = { set: 0xa0a, chain: 0xa04, rule: 0xa07 }
/** `struct nfgenmsg`: AF_INET or AF_INET6, version 0. */
const heads = { IPv4: Buffer.from([2, 0, 0, 0]), IPv6: Buffer.from([10, 0, 0, 0]) } as const
const headBytes = 4
/** NFTA_SET_TABLE, NFTA_CHAIN_TABLE and NFTA_RULE_TABLE; the same number. */
const tableOfPart = 1
/** NFTA_TABLE_FLAGS */
const tableFlags = 2
/** NFTA_SET_NAME, NFTA_CHAIN_NAME, and NFTA_RULE_CHAIN. */
const nameOf: Readonly<Record<TablePart, number>> = { set: 2, chain: 3, rule: 2 }
/** `enum nft_set_attributes`: flags, key type and length, data type and length, timeout. `nft_chain_attributes`: hook, policy, type, flags.
 * `nft_rule_attributes`: expressions, user data. Numbers that others change (handles, uses) are left out.
 */
const content: Readonly<Record<TablePart, readonly number[]>> = {
  set: [3, 4, 5, 6, 7, 11],
  chain: [4, 5, 7, 10],
  rule: [4, 7],
}
/** NFTA_SET_FLAGS and NFT_SET_ANONYMOUS: such a set belongs to a rule. */
const [setFlags, anonymous] = [3, 1]

/** Asks for all parts of one kind in a table, by `NetfilterSocket.list`; each answer is for `readTablePart`. */
export function encodePartList({ family, name }: TableName, part: TablePart): NetlinkMessage {
  const table = encodeAttribute(tableOfPart, Buffer.from(`${name}\0`))
  return { type: listTypes[part], payload: Buffer.concat([heads[family], table]) }
}

/**
 * Prints what matters of a part in a line: `chain NAME { HEX }`. Undefined for parts of other tables, which the kernel may send too, and for sets
 * that belong to rules.
 */
export function readTablePart(payload: Buffer, { name: table }: TableName, part: TablePart): string | undefined {
  const attributes = payload.subarray(headBytes)
  if (textOf(attributes, tableOfPart) !== table) return undefined
  const flags = part === 'set' ? findAttribute(attributes, setFlags) : undefined
  if (flags !== undefined && (flags.readUInt32BE(0) & anonymous) !== 0) return undefined
  const values = content[part].map((type) => findAttribute(attributes, type)?.toString('hex') ?? '')
  return `\t${part} ${textOf(attributes, nameOf[part])} { ${values.join(' ')} }`
}

/** Prints the flags of a table from the answer to `encodeTableQuery`. */
export function readTableFlags(payload: Buffer): string {
  return findAttribute(payload.subarray(headBytes), tableFlags)?.toString('hex') ?? ''
}

function textOf(attributes: Buffer, type: number): string {
  return findAttribute(attributes, type)?.toString('latin1').replace(/\0.*/s, '') ?? ''
}
