import { type Cidr, cidrRange, type Ip } from '../../model/ip.ts'
import type { Protocol } from '../../model/service.ts'

/** Writes an element of a `hash:net` set in the form in which `ipset save` prints it: without the prefix length of a host. */
export function networkElement(network: Cidr): string {
  const { family, first, last } = cidrRange(network)
  const slash = network.indexOf('/')
  const address = network.slice(0, slash)
  const text = family === 'IPv6' ? dottedEnd(address, first) : address
  return first === last ? text : `${text}${network.slice(slash)}`
}

/** Writes an element of a `hash:ip,port` set: `10.0.0.1,tcp:80`. */
export function portElement(address: Ip, protocol: Protocol, port: number): string {
  return `${address},${protocol.toLowerCase()}:${port}`
}

/** The C library prints the last four bytes of IPv4-compatible and IPv4-mapped addresses in dots (RFC 5952 section 5 only the latter). */
function dottedEnd(address: string, value: bigint): string {
  const head = value >> 32n
  const isCompatible = head === 0n && value >> 16n !== 0n
  if (!isCompatible && head !== 0xffffn) return address
  const bytes = [24n, 16n, 8n, 0n].map((shift) => (value >> shift) & 0xffn).join('.')
  return head === 0n ? `::${bytes}` : `::ffff:${bytes}`
}
