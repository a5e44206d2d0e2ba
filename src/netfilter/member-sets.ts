import type { IpFamily } from '../model/ip.ts'

/**
 * Kinds of ipset that every kernel with ipset has. `hash:net` also holds single addresses. There is none for pairs of addresses
 * (`hash:net,net` is often left out): whether a packet goes to its own source says `differentAddresses`.
 */
export type MemberSetType = 'hash:ip' | 'hash:net' | 'hash:ip,port' | 'hash:ip,port,ip'

/** An ipset whose members are ours; its name begins with `PLAT-NP-` and belongs to one family. */
export interface MemberSet {
  readonly type: MemberSetType
  readonly family: IpFamily
  /** Counts the packets that each member matched (`readCounters`). */
  readonly counters?: true
  /** Rules put the members in, and each one leaves after this time: the set has no members of ours. */
  readonly timeoutSeconds?: number
  /** A set with members of ours grows beyond this where it has more. */
  readonly maxElements: number
}

/**
 * One step from what is wanted of sets to what is wanted next, by name. Elements are canonical text: `10.0.0.1`, `10.0.0.0/24`
 * (never `/32`, `/128`, `/0`), `10.0.0.1,tcp:80`, `10.0.0.1,tcp:80,10.0.0.2`, IPv6 addresses without brackets. A set that is
 * created is empty until `add` names it; one that is destroyed needs no `remove`. A name may stand in `destroy` and in `create`:
 * then the new set replaces the old one.
 */
export interface SetChange {
  readonly create: ReadonlyMap<string, MemberSet>
  readonly add: ReadonlyMap<string, readonly string[]>
  readonly remove: ReadonlyMap<string, readonly string[]>
  readonly destroy: readonly string[]
}
