import { type Cidr, hostCidr, type Ip } from '../model/ip.ts'
import type { Frontend } from './frontend.ts'
import { chains } from './names.ts'
import type { Chain, Match, Rule, Target } from './ruleset.ts'
import type { LocalTraffic } from './settings.ts'

/**
 * A comment is a match of its own, which every packet that meets the others runs through, and which the kernel checks again with every
 * commit. So there is one where few packets come, and one in each chain of a Service's own to say whose it is.
 */
export function rule(matches: readonly Match[], target: Target, comment?: string): Rule {
  return comment === undefined ? { matches, target } : { matches, target, comment }
}

/** The chain with its first rule telling whose it is. */
export function named([first, ...rest]: Chain, comment: string): Chain {
  return first === undefined ? [] : [{ ...first, comment }, ...rest]
}

export function jump(chain: string): Target {
  return { kind: 'jump', chain }
}

export const toMarkMasq = jump(chains.markMasq)

export function fromSource(cidr: Cidr): Match {
  return { kind: 'source', cidr }
}

/** Made on this node. */
export const fromThisNode: Match = { kind: 'address-type', side: 'source', type: 'LOCAL' }

export function localTraffic(detector: LocalTraffic): Match {
  if (detector.kind === 'source') return { kind: 'source', cidr: detector.cidr }
  return { kind: 'in-interface', name: detector.isPrefix ? `${detector.name}+` : detector.name }
}

export function otherTraffic(detector: LocalTraffic): Match {
  return { ...localTraffic(detector), negated: true } as Match
}

export function toAddress(frontend: Frontend, address: Ip): readonly Match[] {
  return [{ kind: 'destination', cidr: hostCidr(address) }, toPort(frontend, frontend.port)]
}

export function toPort(frontend: Frontend, port: number): Match {
  return { kind: 'destination-port', protocol: protocolOf(frontend), port }
}

const protocolMatches = {
  tcp: [{ kind: 'protocol', protocol: 'tcp' }],
  udp: [{ kind: 'protocol', protocol: 'udp' }],
  sctp: [{ kind: 'protocol', protocol: 'sctp' }],
} as const satisfies Record<string, readonly Match[]>

export function ofProtocol(frontend: Frontend): readonly Match[] {
  return protocolMatches[protocolOf(frontend)]
}

const chances = Array.from({ length: 16 }, (_, index) => chance(index + 1))

/** One of this many packets. */
export function oneOf(count: number): readonly Match[] {
  return chances[count - 1] ?? chance(count)
}

function chance(count: number): readonly Match[] {
  return [{ kind: 'statistic', probability: 1 / count }]
}

function protocolOf({ protocol }: Frontend): 'tcp' | 'udp' | 'sctp' {
  const names = { TCP: 'tcp', UDP: 'udp', SCTP: 'sctp' } as const
  return names[protocol]
}
