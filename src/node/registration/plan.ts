import type { ApiObject } from '../../model/api-object.ts'
import type { Dialect } from '../../model/dialect.ts'
import type { Ip } from '../../model/ip.ts'

/** What a node tells of itself. */
export interface NodeFacts {
  readonly name: string
  /** The first one is what others reach it by. */
  readonly addresses: readonly Ip[]
  /** As Kubernetes writes it: `amd64`, `arm64`. */
  readonly architecture: string
  readonly kernelVersion: string
  readonly cpus: number
  readonly memoryBytes: number
  /** Where the agent answers metrics over HTTPS. */
  readonly agentPort: number
}

/** Whether pods of this node can get a network. */
export interface NodeNetwork {
  readonly isReady: boolean
  readonly message: string
}

/** As many pods as a /24 has room for, with some to spare. */
const maxPods = 110

/** Longer than four missed renewals (every 10 s). */
export const leaseDurationSeconds = 40

export function nodeLabels({ name, architecture }: NodeFacts, { labels }: Dialect): Readonly<Record<string, string>> {
  return { [labels.hostname]: name, [labels.operatingSystem]: 'linux', [labels.architecture]: architecture }
}

export function nodeObject(facts: NodeFacts, dialect: Dialect): ApiObject {
  return { apiVersion: 'v1', kind: 'Node', metadata: { name: facts.name, labels: nodeLabels(facts, dialect) } }
}

/** `readySince` stays while the node stays ready (RFC 3339, as is `now`). */
export function nodeStatus(facts: NodeFacts, time: { readonly now: string; readonly readySince: string }) {
  const amounts = {
    cpu: String(facts.cpus),
    memory: `${Math.floor(facts.memoryBytes / 1024)}Ki`,
    pods: String(maxPods),
  }
  return {
    addresses: [
      ...facts.addresses.map((address) => ({ type: 'InternalIP', address })),
      { type: 'Hostname', address: facts.name },
    ],
    capacity: amounts,
    allocatable: amounts,
    // Prometheus finds the port of a node's metrics here.
    daemonEndpoints: { kubeletEndpoint: { Port: facts.agentPort } },
    nodeInfo: {
      operatingSystem: 'linux',
      architecture: facts.architecture,
      kernelVersion: facts.kernelVersion,
    },
    conditions: [
      {
        type: 'Ready',
        status: 'True',
        reason: 'AgentReady',
        message: 'the node agent renews its lease',
        lastHeartbeatTime: time.now,
        lastTransitionTime: time.readySince,
      },
    ],
  }
}

/** The condition by which the scheduler keeps pods away while there is no network for them (well-known taint network-unavailable). */
export function networkCondition(
  { isReady, message }: NodeNetwork,
  time: { readonly now: string; readonly since: string },
) {
  return {
    type: 'NetworkUnavailable',
    status: isReady ? 'False' : 'True',
    reason: isReady ? 'NetworkReady' : 'NetworkPluginNotReady',
    message,
    lastHeartbeatTime: time.now,
    lastTransitionTime: time.since,
  }
}

/** `renewTime` in RFC 3339 with microseconds. */
export function leaseSpec(name: string, renewTime: string) {
  return { holderIdentity: name, leaseDurationSeconds, renewTime }
}
