import { readFileSync } from 'node:fs'
import { type NetworkInterfaceInfo, networkInterfaces } from 'node:os'
import { type Ip, parseIp, unspecifiedIpv4, unspecifiedIpv6 } from '../../model/ip.ts'

/** Interfaces and routes of a machine. */
export interface MachineNetworks {
  readonly interfaces: Readonly<Record<string, readonly NetworkInterfaceInfo[] | undefined>>
  /** The text of /proc/net/route. */
  readonly routes: string
}

/**
 * Returns the address at which other machines and pods reach a server: its bind address. For a server that listens on all addresses it is that
 * of the interface with the default route, as kube-apiserver chooses it, since bridges of containers and tunnels may come first in the machine's own
 * order; without such a route it is the machine's first address. Undefined for loopback, which a pod cannot reach.
 */
export function findAdvertiseAddress(bindAddress: Ip, networks = readNetworks()): Ip | undefined {
  if (isLoopback(bindAddress)) return undefined
  if (!isUnspecified(bindAddress)) return bindAddress
  return [...uplinkAddresses(networks), ...outerAddresses(networks)][0]
}

/** Tells whether a server with this bind address listens on all addresses of the machine. */
export function isUnspecified(address: Ip): boolean {
  return address === unspecifiedIpv4 || address === unspecifiedIpv6
}

/** Returns the IPv4 addresses of the interface with the default route. */
export function uplinkAddresses({ interfaces, routes }: MachineNetworks): readonly Ip[] {
  const uplink = findUplink(routes)
  return uplink === undefined ? [] : outerOf(interfaces[uplink] ?? [])
}

/** Returns the IPv4 addresses of all interfaces but loopback, in the machine's own order. */
export function outerAddresses({ interfaces }: MachineNetworks): readonly Ip[] {
  return Object.values(interfaces).flatMap((addresses) => outerOf(addresses ?? []))
}

function outerOf(addresses: readonly NetworkInterfaceInfo[]): readonly Ip[] {
  return addresses
    .filter(({ internal, family }) => !internal && family === 'IPv4')
    .map(({ address }) => parseIp(address))
    .filter((address) => address !== undefined)
}

/** The interface of the default route with the lowest metric. */
function findUplink(routes: string): string | undefined {
  const defaults = routes
    .split('\n')
    .map((line) => line.trim().split(/\s+/))
    .map(([name, destination, , , , , metric, mask]) => ({ name, destination, mask, metric: Number(metric) }))
    .filter(({ destination, mask }) => destination === '00000000' && mask === '00000000')
  return defaults.toSorted((a, b) => a.metric - b.metric)[0]?.name
}

export function readNetworks(): MachineNetworks {
  return { interfaces: networkInterfaces(), routes: readRoutes() }
}

/** Empty where the machine has no such file. */
function readRoutes(): string {
  try {
    return readFileSync('/proc/net/route', 'utf8')
  } catch {
    return ''
  }
}

function isLoopback(address: Ip): boolean {
  return address === '::1' || address.startsWith('127.')
}
