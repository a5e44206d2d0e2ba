import type { Cidr, Ip } from '../model/ip.ts'

/** The tables of the service proxy. */
export type ProxyTable = 'nat' | 'filter'

/** `mangle` is NetworkPolicy's: judged after DNAT and before SNAT, and whatever others accept in filter. */
export type TableName = ProxyTable | 'mangle'

/** Which address of the packet an ipset looks up, or which port beside its protocol. */
export type Side = 'src' | 'dst'

/** One condition of a rule. A new kind that lacks a renderer or parser does not compile. */
export type Match =
  | { readonly kind: 'protocol'; readonly protocol: L4Protocol }
  | { readonly kind: 'source'; readonly cidr: Cidr; readonly negated?: boolean }
  | { readonly kind: 'destination'; readonly cidr: Cidr; readonly negated?: boolean }
  /** The last two bytes of the address, under a mask: how the dispatch finds its bucket. */
  | { readonly kind: 'destination-bits'; readonly value: number; readonly mask: number }
  /** A `+` at the end stands for anything. */
  | { readonly kind: 'in-interface'; readonly name: string; readonly negated?: boolean }
  | PortMatch
  | { readonly kind: 'address-type'; readonly side: 'source' | 'destination'; readonly type: 'LOCAL' }
  | { readonly kind: 'connection-state'; readonly states: readonly ConnectionState[]; readonly negated?: boolean }
  | { readonly kind: 'mark'; readonly value: number; readonly mask: number; readonly negated?: boolean }
  | { readonly kind: 'statistic'; readonly probability: number }
  | { readonly kind: 'recent-set'; readonly list: string }
  | { readonly kind: 'recent-check'; readonly list: string; readonly seconds: number }
  /** One bit of an address is set; bit 0 is the last one. */
  | {
      readonly kind: 'address-bit'
      readonly side: 'source' | 'destination'
      readonly bit: number
      readonly negated?: boolean
    }
  /** At most 15 numbers in all, of which a range takes two; a rule has one such match. */
  | { readonly kind: 'destination-ports'; readonly protocol: L4Protocol; readonly ports: readonly PortRange[] }
  | { readonly kind: 'icmpv6-type'; readonly type: number }
  /** Matches if these fields of the packet form an element of this ipset; one field for each part of its elements. */
  | { readonly kind: 'in-set'; readonly set: string; readonly by: readonly Side[]; readonly negated?: boolean }

type L4Protocol = 'tcp' | 'udp' | 'sctp'

/** Both ends included; equal for a single port. */
export interface PortRange {
  readonly first: number
  readonly last: number
}

interface PortMatch {
  readonly kind: 'destination-port'
  readonly protocol: L4Protocol
  readonly port: number
  /** The end of a range that begins with `port`. */
  readonly lastPort?: number
}

export type ConnectionState = 'NEW' | 'ESTABLISHED' | 'RELATED' | 'INVALID' | 'DNAT'

export type Target =
  | { readonly kind: 'jump'; readonly chain: string }
  | { readonly kind: 'goto'; readonly chain: string }
  | { readonly kind: 'accept' }
  | { readonly kind: 'drop' }
  | { readonly kind: 'return' }
  /** Refuses with an ICMP message (port unreachable), or with a reset where the rule is for TCP alone. */
  | { readonly kind: 'reject'; readonly withReset?: true }
  | { readonly kind: 'dnat'; readonly address: Ip; readonly port: number }
  | { readonly kind: 'masquerade'; readonly randomFully: boolean }
  | { readonly kind: 'mark-or'; readonly mask: number }
  | { readonly kind: 'mark-xor'; readonly mask: number }
  /** Puts these sides of the packet into an ipset and goes on; what stands there already begins its time anew where `refresh` says so. */
  | { readonly kind: 'add-to-set'; readonly set: string; readonly by: readonly Side[]; readonly refresh: boolean }

/** A rule without a target only carries its comment (PLAT-STATE) or its side effect. */
export interface Rule {
  readonly matches: readonly Match[]
  readonly target?: Target
  /** Comment of the rule, at most 255 bytes after rendering. */
  readonly comment?: string
}

/** Rules of one chain in their order. */
export type Chain = readonly Rule[]

/** The content of the proxy's tables of one IP family, wanted or present: our own chains only, without hook jumps. */
export type Ruleset = Readonly<Record<ProxyTable, ReadonlyMap<string, Chain>>>

/** A jump from a built-in chain into one of ours; kept at the top of the built-in chain, in listed order. */
export interface Hook {
  readonly table: TableName
  readonly builtin: 'PREROUTING' | 'INPUT' | 'FORWARD' | 'OUTPUT' | 'POSTROUTING'
  readonly rule: Rule
}

/** The changes of one table in one commit: chains written whole, chains removed, single rules deleted. */
export interface TableChange {
  readonly table: TableName
  readonly set: ReadonlyMap<string, Chain>
  readonly remove: readonly string[]
  /** Rules to delete by their text, from chains that stay; a commit fails where one does not exist. */
  readonly drop?: ReadonlyMap<string, Chain>
}
