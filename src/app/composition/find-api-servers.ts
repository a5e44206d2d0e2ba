import { lookup } from 'node:dns/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import type { ClusterAccess } from '../../client/index.ts'
import { parseIp } from '../../model/ip.ts'
import { claimKey } from '../../node/proxy/index.ts'

/** A name that nothing answers must not keep the agent from starting. */
const patienceMs = 1000

/** Where this agent reaches its API server, as `claimKey` says it; nothing for a name that is not found in a second. */
export async function findApiServers({ server }: Pick<ClusterAccess, 'server'>): Promise<ReadonlySet<string>> {
  const { hostname, port, protocol } = new URL(server)
  const host = hostname.replace(/^\[(.*)\]$/, '$1')
  const number = Number(port || (protocol === 'http:' ? 80 : 443))
  const addresses = parseIp(host) === undefined ? await lookUp(host) : [host]
  const ips = addresses.map(parseIp).filter((ip) => ip !== undefined)
  return new Set(ips.map((ip) => claimKey(ip, 'TCP', number)))
}

async function lookUp(host: string): Promise<readonly string[]> {
  const found = lookup(host, { all: true }).then((all) => all.map(({ address }) => address))
  return Promise.race([found.catch(() => []), sleep(patienceMs, [], { ref: false })])
}
