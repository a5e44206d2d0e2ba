import { lookup } from 'node:dns/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import type { ClusterAccess } from '../../client/index.ts'
import { parseIp } from '../../model/ip.ts'
import { claimKey } from '../../node/proxy/index.ts'

/** Time limit of one lookup: a name that no server answers must not delay the start of the agent. */
const patienceMs = 1000

/** Resolves the addresses of this agent's API servers to keys of `claimKey`; to none for a name without an answer within a second. */
export async function findApiServers({
  server,
  otherServers = [],
}: Pick<ClusterAccess, 'server' | 'otherServers'>): Promise<ReadonlySet<string>> {
  const found = await Promise.all([server, ...otherServers].map(keysOf))
  return new Set(found.flat())
}

async function keysOf(server: string): Promise<readonly string[]> {
  const { hostname, port, protocol } = new URL(server)
  const host = hostname.replace(/^\[(.*)\]$/, '$1')
  const number = Number(port || (protocol === 'http:' ? 80 : 443))
  const addresses = parseIp(host) === undefined ? await lookUp(host) : [host]
  const ips = addresses.map(parseIp).filter((ip) => ip !== undefined)
  return ips.map((ip) => claimKey(ip, 'TCP', number))
}

async function lookUp(host: string): Promise<readonly string[]> {
  const found = lookup(host, { all: true }).then((all) => all.map(({ address }) => address))
  return Promise.race([found.catch(() => []), sleep(patienceMs, [], { ref: false })])
}
