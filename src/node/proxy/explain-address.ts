import type { Ip } from '../../model/ip.ts'
import { isLoopback } from '../../model/ip.ts'
import type { Frontend } from '../../netfilter/frontend.ts'
import type { TraceContext, TracedPacket } from '../../netfilter/trace/types.ts'
import type { ProxySettings } from './service-plans.ts'

/** Where node ports are open, and which addresses are this node's. */
export type NodeView = Pick<ProxySettings, 'nodePortAddresses'> & Pick<TraceContext, 'isLocalAddress'>

/** Names the address of the frontend that a packet is sent to: `the cluster IP of default/web:http`; undefined where the packet is not for this frontend. */
export function describeEntry(packet: TracedPacket, frontend: Frontend, node: NodeView): string | undefined {
  if (frontend.protocol !== packet.protocol) return undefined
  const kind = frontend.port === packet.port ? kindOfAddress(packet.destination, frontend) : undefined
  if (kind !== undefined) return `${kind} of ${frontend.servicePort}`
  const isNodePort = frontend.nodePort === packet.port && whyNodePortIsClosed(packet.destination, node) === undefined
  return isNodePort ? `the node port of ${frontend.servicePort}` : undefined
}

/** Returns what the sender of a packet to no Service may have meant. */
export function guessMeaning(packet: TracedPacket, frontends: readonly Frontend[], node: NodeView): readonly string[] {
  const { destination, port, protocol } = packet
  const atAddress = frontends.filter((frontend) => kindOfAddress(destination, frontend) !== undefined)
  const ports = atAddress.map((frontend) => `${frontend.port}/${frontend.protocol} (${frontend.servicePort})`)
  const byNodePort = frontends.find((frontend) => frontend.nodePort === port)
  const behind = frontends.find(({ clusterEndpoints, localEndpoints }) =>
    [...clusterEndpoints, ...localEndpoints].some((each) => each.address === destination && each.port === port),
  )
  return [
    ...(ports.length > 0 ? [`At ${destination} there are only ${ports.join(', ')}.`] : []),
    ...(byNodePort
      ? [
          `${port}/${byNodePort.protocol} is the node port of ${byNodePort.servicePort}${whyNotThis(packet, byNodePort, node)}.`,
        ]
      : []),
    ...(behind?.protocol === protocol ? [`It is an endpoint of ${behind.servicePort}, asked directly.`] : []),
  ]
}

function whyNotThis({ destination, protocol }: TracedPacket, frontend: Frontend, node: NodeView): string {
  if (frontend.protocol !== protocol) return `, not ${port(frontend)}/${protocol}`
  return `, but ${whyNodePortIsClosed(destination, node) ?? 'not here'}`
}

function port({ nodePort }: Frontend): string {
  return String(nodePort)
}

function whyNodePortIsClosed(destination: Ip, { nodePortAddresses, isLocalAddress }: NodeView): string | undefined {
  if (!isLocalAddress(destination)) return `${destination} is no address of this node`
  if (nodePortAddresses !== undefined) {
    if (nodePortAddresses.includes(destination)) return undefined
    return `node ports are open on ${nodePortAddresses.join(', ') || 'no address'} only (--node-port-addresses)`
  }
  return isLoopback(destination) ? 'node ports are not open on loopback' : undefined
}

function kindOfAddress(address: Ip, { clusterIp, externalIps, loadBalancerVips }: Frontend): string | undefined {
  if (address === clusterIp) return 'the cluster IP'
  if (externalIps.includes(address)) return 'an external IP'
  return loadBalancerVips.includes(address) ? "a load balancer's address" : undefined
}
