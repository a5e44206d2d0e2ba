import type { ObjectKey } from '../../model/api-object.ts'
import type { Ip, IpFamily } from '../../model/ip.ts'

/** The types of nft that keys and data are made of. `classid` is a number of 32 bits, printed as two halves (`0:1f`). */
export type NftType = 'ipv4_addr' | 'ipv6_addr' | 'inet_proto' | 'inet_service' | 'classid'

/** A set of the table whose elements belong to Services, or a map where it has data. */
export interface SetSpec {
  readonly name: string
  readonly key: readonly NftType[]
  /** Empty for a set. */
  readonly data: readonly NftType[]
  /** The last field of each key is a network: `198.51.100.0/24`, or one address without a prefix length. */
  readonly isInterval: boolean
}

/** One element. Fields are joined with ` . `, as nft prints them: addresses in canonical form (`Ip`), `tcp`, `udp` or `sctp`,
 * ports in decimal, classids as hexadecimal halves without leading zeros.
 */
export interface SetElement {
  readonly set: string
  readonly key: string
  /** Empty for elements of sets. */
  readonly data: string
}

/** Everything in the table that belongs to one Service in one family. No key stands twice in one set. */
export interface ServiceElements {
  /** All of them, made anew with each call. */
  readonly elements: readonly SetElement[]
  /** The elements that no other Service has: lines of set, key and data with tabs between. */
  readonly own: string
  /** Each makes an element of `hairpin`, which Services with the same endpoint share. */
  readonly endpointAddresses: readonly Ip[]
}

/** The parts of the rules that grow with use. */
export interface TableShape {
  /** Up to this number of endpoints of one address there are rules that draw one. */
  readonly drawUpTo: number
  /** The timeouts of session affinity in use, in seconds, ascending. */
  readonly timeouts: readonly number[]
}

/** The table of one family. */
export interface NftTable {
  readonly family: IpFamily
  readonly name: 'platnet'
  /**
   * `table ip platnet { … }` without the elements of Services. Loaded after `flush table` it takes the place of other rules and
   * keeps all elements, as long as the sets have the same types; loaded after `delete table` it begins without elements.
   */
  readonly text: string
  /** Sixteen hexadecimal digits, the hash of `text`. */
  readonly version: string
  readonly sets: readonly SetSpec[]
}

/** The table and its family, as commands name them. */
export type TableName = Pick<NftTable, 'family' | 'name'>

/** Changes of one Service, which go into one transaction. Other data for a key is a removal and an addition. */
export interface ElementChange {
  /** Absent for elements that several Services share, or whose owner changes. */
  readonly service: ObjectKey | undefined
  /** Both lists may be made anew with each call. */
  readonly remove: readonly SetElement[]
  readonly add: readonly SetElement[]
}

/** All that one update changes. */
export interface NftChange {
  /** Present where the rules have to be written: the first time, after other settings, or for a larger shape. They come before `changes`. */
  readonly table?: NftTable
  readonly changes: readonly ElementChange[]
}

/** The origin of the table, kept in the table itself as a comment; hashes in lower-case hexadecimal. */
export interface TableState {
  /** The version of the rules' text. */
  readonly version: string
  /** The Services and settings that all of it was made of. */
  readonly objects: string
  /** The rules as the kernel held them after they were written; `0` where that is not known yet. */
  readonly listing: string
}

/** The set whose one element, `1`, carries the state as its comment. */
export const stateSet = 'state'

/** A mark is a number of 32 bits, as a classid is. */
export const stateSpec: SetSpec = { name: stateSet, key: ['classid'], data: [], isInterval: false }

/** The key of the state's element, in the form of a classid. */
export const stateKey = '0:1'
