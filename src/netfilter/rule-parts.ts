import { type Cidr, hostCidr, type Ip } from '../model/ip.ts'
import type { Frontend } from './frontend.ts'
import type { Match, Rule, Target } from './ruleset.ts'
import type { LocalTraffic } from './settings.ts'

export function rule(matches: readonly Match[], target: Target, comment: string): Rule {
  return { matches, target, comment }
}

export function jump(chain: string): Target {
  return { kind: 'jump', chain }
}

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

export function protocolOf({ protocol }: Frontend): 'tcp' | 'udp' | 'sctp' {
  const names = { TCP: 'tcp', UDP: 'udp', SCTP: 'sctp' } as const
  return names[protocol]
}
