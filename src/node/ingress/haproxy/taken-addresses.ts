import { once } from 'node:events'
import { createServer } from 'node:net'
import { formatListenAddress, type ListenAddress } from '../../../config/index.ts'
import { ipFamily } from '../../../model/ip.ts'
import { HaproxyError } from './errors.ts'
import type { HaproxySettings } from './settings.ts'

/** Addresses of the options that other programs have, as haproxy writes them: `IP:PORT`. */
export type TakenAddresses = ReadonlySet<string>

/** Reads from a failed start or reload which addresses haproxy could not bind. */
export function readTaken(error: unknown): readonly string[] {
  if (!(error instanceof HaproxyError)) return []
  return Array.from(
    error.message.matchAll(/cannot bind socket \([^)]*\) for \[([0-9a-f.:]+)\]/g),
    ([, name = '']) => name,
  )
}

/** Leaves those addresses out, so that haproxy serves the other ones. */
export function withoutTaken(settings: HaproxySettings, taken: TakenAddresses): HaproxySettings {
  if (taken.size === 0) return settings
  const { httpAddresses, httpsAddresses } = settings
  const free = (addresses: readonly ListenAddress[]) => addresses.filter((address) => !taken.has(nameOf(address)))
  return { ...settings, httpAddresses: free(httpAddresses), httpsAddresses: free(httpsAddresses) }
}

/** Says what is not served and what to do about it; undefined where nothing is taken. */
export function explainTaken({ httpAddresses, httpsAddresses }: HaproxySettings, taken: TakenAddresses) {
  const lost = [
    ...httpAddresses.map((address) => ({ address, option: '--ingress-http-addresses' })),
    ...httpsAddresses.map((address) => ({ address, option: '--ingress-https-addresses' })),
  ].filter(({ address }) => taken.has(nameOf(address)))
  if (lost.length === 0) return undefined
  return lost
    .map(({ address, option }) => `${formatListenAddress(address)} cannot be bound; ${option} chooses other addresses`)
    .join('; ')
}

/** Lists the sets of addresses without which an earlier agent may have started haproxy: none first. Of more than eight addresses all are wanted. */
export function subsets({ httpAddresses, httpsAddresses }: HaproxySettings): readonly TakenAddresses[] {
  const names = [...httpAddresses, ...httpsAddresses].map(nameOf)
  if (names.length > mostInSubsets) return [new Set()]
  return Array.from({ length: 2 ** names.length }, (_, bits) => new Set(names.filter((_name, at) => bits & (1 << at))))
}

const mostInSubsets = 8

/** Tries those addresses and returns the ones that are free now. */
export async function findFree(settings: HaproxySettings, taken: TakenAddresses): Promise<readonly string[]> {
  const addresses = [...settings.httpAddresses, ...settings.httpsAddresses]
  const tried = await Promise.all(
    addresses.map(async (address) => (taken.has(nameOf(address)) && (await canBind(address)) ? [nameOf(address)] : [])),
  )
  return tried.flat()
}

async function canBind({ ip: host, port }: ListenAddress): Promise<boolean> {
  const server = createServer()
  try {
    const listening = once(server, 'listening')
    server.listen({ host, port, ipv6Only: ipFamily(host) === 'IPv6' })
    await listening
    const closed = once(server, 'close')
    server.close()
    await closed
    return true
  } catch {
    return false
  }
}

function nameOf({ ip, port }: ListenAddress): string {
  return `${ip}:${port}`
}
