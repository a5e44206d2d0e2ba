import { networkInterfaces } from 'node:os'
import { type Ip, parseIp } from '../../model/ip.ts'

/**
 * Returns the address at which other machines and pods reach a server: its bind address, or the machine's first address if it
 * listens on all. Undefined for loopback, which a pod cannot reach.
 */
export function findAdvertiseAddress(bindAddress: Ip): Ip | undefined {
  if (isLoopback(bindAddress)) return undefined
  if (bindAddress !== '0.0.0.0' && bindAddress !== '::') return bindAddress
  const found = Object.values(networkInterfaces())
    .flatMap((addresses) => addresses ?? [])
    .find(({ internal, family }) => !internal && family === 'IPv4')
  return found && parseIp(found.address)
}

function isLoopback(address: Ip): boolean {
  return address === '::1' || address.startsWith('127.')
}
