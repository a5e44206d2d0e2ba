import { parseIp } from '../../model/ip.ts'
import { type ApiDocument, listAt, textAt, valueAt } from '../document.ts'
import type { Store } from '../store/index.ts'
import type { AgentAddress } from './usage-keeper.ts'

/** Returns the address of each node's agent, as its Node object shows it; nodes without an address or a port are left out. */
export async function findAgents(store: Store): Promise<readonly AgentAddress[]> {
  const { entries } = await store.range('/registry/nodes/')
  return entries.flatMap(({ value }) => agentOf(JSON.parse(value) as ApiDocument))
}

function agentOf({ metadata, status }: ApiDocument): readonly AgentAddress[] {
  const internal = listAt(status, 'addresses').find((each) => textAt(each, 'type') === 'InternalIP')
  const host = parseIp(textAt(internal, 'address'))
  const port = valueAt(status, 'daemonEndpoints', 'kubeletEndpoint', 'Port')
  const isPort = typeof port === 'number' && Number.isInteger(port) && port > 0 && port < 65_536
  return host !== undefined && isPort ? [{ node: metadata.name ?? '', host, port }] : []
}
