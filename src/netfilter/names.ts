import { hash } from 'node:crypto'
import { type Ip, renderAddressPort } from '../model/ip.ts'
import type { Protocol } from '../model/service.ts'

/** The fixed chains of spec 2.12, in the tables where they stand. */
export const chains = {
  /** nat: addresses of Services. filter: verdicts on addresses without endpoints or with source ranges; cluster IPs first. */
  services: 'PLAT-SERVICES',
  /** filter: the verdicts on external and load-balancer addresses, which may stand on a link of this node. */
  external: 'PLAT-EXTERNAL',
  /** nat: node ports. filter: verdicts on node ports without endpoints. */
  nodePorts: 'PLAT-NODEPORTS',
  /** filter: what comes in to this node itself meets the verdicts on node ports and external addresses. */
  input: 'PLAT-INPUT',
  /** filter: forwarded packets that conntrack cannot place. */
  invalid: 'PLAT-INVALID',
  markMasq: 'PLAT-MARK-MASQ',
  postrouting: 'PLAT-POSTROUTING',
  forward: 'PLAT-FORWARD',
  /** filter: new connections of pods, accepted after all verdicts of ours. */
  podForward: 'PLAT-FORWARD-PODS',
} as const

/**
 * The kind of a Service's chain, which stands between `PLAT-` and 80 bits of a hash: 25 of the 28 characters that a
 * chain's name may have. `SVC` balances over all endpoints, `SVL` over those of this node, `EXT` takes packets to
 * external addresses, `FW` checks the source ranges of a load balancer.
 */
export type ServiceChainKind = 'SVC' | 'SVL' | 'EXT' | 'FW'

export function serviceChain(servicePortName: string, protocol: Protocol, kind: ServiceChainKind = 'SVC'): string {
  return `PLAT-${kind}-${shortHash([servicePortName, protocol])}`
}

/** Also the name of the endpoint's affinity list or set. */
export function endpointChain(servicePortName: string, protocol: Protocol, address: Ip, port: number): string {
  return `PLAT-SEP-${shortHash([servicePortName, protocol, renderAddressPort(address, port)])}`
}

/** A chain that belongs to one Service. Rewritten whole it sends each packet where it sent it before, or where it shall go. */
export function isServiceChain(name: string): boolean {
  return /^PLAT-(SVC|SVL|EXT|FW|SEP)-/.test(name)
}

/** RFC 4648. */
export const base32Digits = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'

/** 16 base32 digits of SHA-256 over the parts; no part holds the separator. */
export function shortHash(parts: readonly string[]): string {
  const digest = hash('sha256', parts.join(' '), 'hex')
  return base32(Number.parseInt(digest.slice(0, 10), 16)) + base32(Number.parseInt(digest.slice(10, 20), 16))
}

/** Eight digits of 40 bits, more than the bit operators of JavaScript take. */
function base32(value: number): string {
  let text = ''
  for (let rest = value; text.length < 8; rest = Math.floor(rest / 32)) text = base32Digits.charAt(rest % 32) + text
  return text
}
