import { createHash } from 'node:crypto'
import type { Ip } from '../model/ip.ts'
import type { Protocol } from '../model/service.ts'
import { renderAddressPort } from './render.ts'

/** The fixed chains of spec 2.12, in the tables where they stand. */
export const chains = {
  /** nat: ClusterIPs. filter: the verdicts on ClusterIPs that have no endpoints. */
  services: 'PLAT-SERVICES',
  /** nat: node ports. filter: the verdicts on node ports that have no endpoints. */
  nodePorts: 'PLAT-NODEPORTS',
  markMasq: 'PLAT-MARK-MASQ',
  postrouting: 'PLAT-POSTROUTING',
  forward: 'PLAT-FORWARD',
} as const

/** `PLAT-SVC-` and 80 bits of a hash: 25 characters, of the 28 a chain's name may have. */
export function serviceChain(servicePortName: string, protocol: Protocol): string {
  return `PLAT-SVC-${shortHash([servicePortName, protocol])}`
}

/** Also the name of the endpoint's affinity list. */
export function endpointChain(servicePortName: string, protocol: Protocol, address: Ip, port: number): string {
  return `PLAT-SEP-${shortHash([servicePortName, protocol, renderAddressPort(address, port)])}`
}

const base32Digits = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'

/** 16 base32 digits (RFC 4648) of SHA-256 over the parts; no part holds the separator. */
function shortHash(parts: readonly string[]): string {
  const digest = createHash('sha256').update(parts.join(' ')).digest()
  let bits = BigInt(`0x${digest.toString('hex', 0, 10)}`)
  let text = ''
  for (let digit = 0; digit < 16; digit++) {
    text = base32Digits.charAt(Number(bits & 31n)) + text
    bits >>= 5n
  }
  return text
}
