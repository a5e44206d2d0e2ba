import type { Ip } from '../../model/ip.ts'
import type { Protocol } from '../../model/service.ts'
import type { SetElement } from '../nft/types.ts'
import type { Hook, ProxyTable, Rule, Ruleset } from '../ruleset.ts'

/** A packet as it meets this node's first hook. */
export interface TracedPacket {
  readonly source: Ip
  readonly destination: Ip
  readonly protocol: Protocol
  /** The destination's. */
  readonly port: number
  /** The connection state by conntrack; only `NEW` ones are translated by rules. */
  readonly state: 'NEW' | 'ESTABLISHED' | 'RELATED' | 'INVALID'
  /** Made by a program on this node, or come in over a link. */
  readonly origin: 'this-node' | 'elsewhere'
  /** The link it came in by, where that is known. */
  readonly inInterface?: string
}

/** The answers of the kernel to what rules look up. */
export interface TracedWorld {
  /** Whether one of this node's links has this address. */
  isLocalAddress(address: Ip): boolean
  /** Tells whether an affinity list or set contains the client; without it no client is remembered. */
  remembers?(list: string, client: Ip): boolean
}

/** Everything else that decides: our rules and hooks, and what the kernel would look up. Rules of others are not seen. */
export interface TraceContext extends TracedWorld {
  readonly ruleset: Ruleset
  readonly hooks: readonly Hook[]
}

/** A rule that a packet matched, and where it stands. */
export interface TracedRule {
  readonly table: ProxyTable
  readonly chain: string
  /** Its number in the chain, 1 for the first. */
  readonly position: number
  readonly rule: Rule
}

/** One of the ways a packet may go; which one is chance where a Service has several endpoints. */
export interface TraceOutcome {
  /** The probabilities of one trace add up to 1. */
  readonly probability: number
  readonly verdict: 'accept' | 'drop' | 'reject'
  /** Where it is sent instead; absent where it goes on to where it was going. */
  readonly endpoint?: { readonly address: Ip; readonly port: number }
  /** Whether it leaves with an address of this node as its source. */
  readonly masqueraded: boolean
  /** Whether it ends on this node or is sent on. */
  readonly goesTo: 'this-node' | 'elsewhere'
  /** The rules it matched, in order; the last one of a refused packet is the one that refused it. */
  readonly rules: readonly TracedRule[]
  /** In the mode nftables: the elements that decided, in order; the last one of a refused packet is the one that refused it. */
  readonly elements?: readonly SetElement[]
}
