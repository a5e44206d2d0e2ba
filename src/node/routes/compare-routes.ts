import { z } from 'zod'
import { type Cidr, hostCidr, parseCidr, parseIp } from '../../model/ip.ts'
import type { PodRoute } from './plan.ts'

/** The routes that `ip -j route show` prints. */
export const routeSchema = z.array(
  z.object({
    dst: z.string(),
    gateway: z.string().optional(),
    dev: z.string().optional(),
    protocol: z.string().optional(),
  }),
)

export type PresentRoute = z.output<typeof routeSchema>[number]

/** Returns the routes to add and those to delete. They are compared by their text: thousands of nodes have as many. */
export function compareRoutes(present: readonly PresentRoute[], wanted: readonly PodRoute[]) {
  const wantedKeys = new Set(wanted.map(({ destination, via, device }) => routeKey(destination, via, device)))
  const presentKeys = present.map(({ dst, gateway, dev }) => {
    const destination = parseDestination(dst)
    // A route of host-gw names no device.
    return [routeKey(destination, gateway, dev), routeKey(destination, gateway, undefined)]
  })
  const known = new Set(presentKeys.flat())
  return {
    missing: wanted.filter(({ destination, via, device }) => !known.has(routeKey(destination, via, device))),
    stale: present.filter((_, index) => !presentKeys[index]?.some((key) => wantedKeys.has(key))),
  }
}

function routeKey(destination: Cidr | undefined, via: string | undefined, device: string | undefined): string {
  return `${destination} via ${via} dev ${device}`
}

/** `ip` prints the network of one address without its length. */
export function parseDestination(dst: string): Cidr | undefined {
  const ip = parseIp(dst)
  return ip === undefined ? parseCidr(dst) : hostCidr(ip)
}
