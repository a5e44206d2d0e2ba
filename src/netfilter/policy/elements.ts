import { type Cidr, hostCidr, type Ip } from '../../model/ip.ts'
import type { Protocol } from '../../model/service.ts'

/** Writes an element of a `hash:net` set: a host without its prefix length. */
export function networkElement(network: Cidr): string {
  const slash = network.indexOf('/')
  const address = network.slice(0, slash) as Ip
  return hostCidr(address) === network ? address : network
}

/** Writes an element of a `hash:ip,port` set: `10.0.0.1,tcp:80`. */
export function portElement(address: Ip, protocol: Protocol, port: number): string {
  return `${address},${protocol.toLowerCase()}:${port}`
}
