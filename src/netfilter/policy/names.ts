import type { ObjectKey } from '../../model/api-object.ts'
import type { IpFamily } from '../../model/ip.ts'
import type { LabelSelector } from '../../model/selector.ts'
import { base32Digits, shortHash } from '../names.ts'

/** A policy isolates its pods for connections that come to them, or for connections that they make. */
export type PolicyDirection = 'ingress' | 'egress'

export const policyDirections = ['ingress', 'egress'] as const

/** The fixed chains of NetworkPolicy, all of them in mangle. */
export const policyChains = {
  /** Judges the packets that this node forwards. */
  forward: 'PLAT-NETPOL',
  /** Judges the packets to the cluster DNS addresses that this node answers. */
  input: 'PLAT-NETPOL-IN',
  /** Sets the mark bit that says "allowed" and returns to the chain of the group. */
  allow: 'PLAT-NP-OK',
  /** Unsets that bit where a direction is done, and returns past its chain. */
  clear: 'PLAT-NP-CLEAR',
  /** Sets that bit on packets that go to their own source: a pod that reaches itself through a Service. */
  self: 'PLAT-NP-SELF',
} as const

const prefixes = { ingress: 'PLAT-NWI', egress: 'PLAT-NWE' } as const
const letters = { ingress: 'I', egress: 'E' } as const
const digits = { IPv4: '4', IPv6: '6' } as const

/** The chain that leads each isolated pod to the chain of its group. */
export function directionChain(direction: PolicyDirection): string {
  return prefixes[direction]
}

/** The chain that counts, logs and drops what no policy of a pod allows. */
export function denyChain(direction: PolicyDirection): string {
  return `${prefixes[direction]}-DENY`
}

/**
 * The chain of one policy in one direction; 25 characters. Where the policy selects other pods the chain has another name: pods that it
 * selects no more stay in the sets of its earlier groups until after the commit, and must not meet its new rules there.
 */
export function policyChain(direction: PolicyDirection, policy: ObjectKey, podSelector: LabelSelector): string {
  return `PLAT-NP${letters[direction]}-${shortHash([policy, JSON.stringify(podSelector)])}`
}

/** The chain of a group of policies: those that select a pod; 25 characters. */
export function groupChain(direction: PolicyDirection, group: string): string {
  return `${prefixes[direction]}-${group}`
}

/** The chain that asks for the groups of one bucket. */
export function bucketChain(direction: PolicyDirection, bucket: string): string {
  return `${prefixes[direction]}-B${bucket}`
}

/** Identifies a group by the chains of its policies in sorted order: 16 base32 digits. */
export function groupId(policyChains: readonly string[]): string {
  return shortHash(policyChains)
}

/** One hexadecimal digit, from the first digit of the id; a group keeps its bucket whatever other groups come and go. */
export function bucketOf(group: string): string {
  return (base32Digits.indexOf(group.charAt(0)) >> 1).toString(16).toUpperCase()
}

/** The sets that always stand, by what they hold. */
export interface FixedSets {
  /** Addresses of pods that policies isolate, or whose object is not known: the first question of each packet. */
  readonly isolated: Readonly<Record<PolicyDirection, string>>
  /** The isolated addresses again: its counters are the packets and bytes that were denied. */
  readonly denied: Readonly<Record<PolicyDirection, string>>
  /** Addresses that the node has announced while the object of the pod is not known. */
  readonly unknown: string
  /** Addresses of all local pods. */
  readonly known: string
  /**
   * Flows that were cut, as `server,protocol:port,client`: what the server still sends of one has no connection any more and must not begin
   * a new one, through which the client could go on. It leaves the set when its client is allowed again.
   */
  readonly cut: string
  /** Flows that were denied in the last minute, as `source,protocol:port,destination`; stands only where denials are logged. */
  readonly log: string
}

/** A server that is quiet does not know for a long time that its connection is cut; the kernel keeps an idle one for a day. */
export const barredSeconds = 86_400

/** At most 28 characters, as rules name them. */
export function fixedSets(family: IpFamily): FixedSets {
  const digit = digits[family]
  return {
    isolated: { ingress: `PLAT-NP-I${digit}`, egress: `PLAT-NP-E${digit}` },
    denied: { ingress: `PLAT-NP-CI${digit}`, egress: `PLAT-NP-CE${digit}` },
    unknown: `PLAT-NP-U${digit}`,
    known: `PLAT-NP-KNOWN${digit}`,
    cut: `PLAT-NP-CUT${digit}`,
    log: `PLAT-NP-LOG${digit}`,
  }
}

/** The local pods of a group; 28 characters. */
export function groupSet(direction: PolicyDirection, family: IpFamily, group: string): string {
  return `PLAT-NP-G${letters[direction]}${digits[family]}-${group}`
}

/** The local pods of all groups of a bucket. */
export function bucketSet(direction: PolicyDirection, family: IpFamily, bucket: string): string {
  return `PLAT-NP-B${letters[direction]}${digits[family]}-${bucket}`
}

/** A set of peers' addresses and networks; rules with equal peers share it, whatever their policies. 27 characters. */
export function peerSet(family: IpFamily, peers: string): string {
  return `PLAT-NP-P${digits[family]}-${shortHash([peers])}`
}

/** A set of addresses with the ports that have one name there. 27 characters. */
export function portSet(family: IpFamily, ports: string): string {
  return `PLAT-NP-N${digits[family]}-${shortHash([ports])}`
}
