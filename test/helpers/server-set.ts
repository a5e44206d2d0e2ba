import { AwayServer } from './away-server.ts'
import type { RealCluster } from './real-cluster.ts'

/** Addresses of the first node in the certificate of up.sh. Each server has one, as each is an endpoint of the Service `kubernetes`. */
export const serverAddresses = ['192.168.77.2', '192.168.77.12', '192.168.77.13'] as const

/** Puts several API servers over one etcd in the place of the one of up.sh, each at one of the addresses. */
export async function startServers(cluster: RealCluster, control: 'kubernetes' | 'platnet'): Promise<AwayServer[]> {
  for (const address of serverAddresses.slice(1)) await cluster.run('ip', 'addr', 'add', `${address}/32`, 'dev', 'eth0')
  const only = new AwayServer(cluster, control)
  await only.learn()
  const servers = await Promise.all(serverAddresses.map((address) => only.at(address)))
  await only.kill()
  for (const server of servers) await server.start()
  return servers
}
