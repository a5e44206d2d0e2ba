import type { ApiObject } from '../../model/api-object.ts'
import type { Dialect } from '../../model/dialect.ts'
import type { Ip } from '../../model/ip.ts'

/** The facts that a node reports about itself. */
export interface MachineInfo {
  readonly name: string
  /** Addresses of now; others reach the node by the first one. */
  readonly addresses: readonly Ip[]
  /** Architecture in Kubernetes' notation: `amd64`, `arm64`. */
  readonly architecture: string
  readonly kernelVersion: string
  /** The name of the operating system, such as `Debian GNU/Linux 12 (bookworm)`; empty if unknown. */
  readonly osImage: string
  /** The version of this program, such as `v0.1.0`. */
  readonly version: string
  readonly cpus: number
  readonly memoryBytes: number
  /** HTTPS port of the agent's metrics. */
  readonly agentPort: number
}

/** Whether pods of this node can get a network. */
export interface NodeNetwork {
  readonly isReady: boolean
  readonly message: string
}

/** Number of pods, below the capacity of a /24. */
const maxPods = 110

/** Lease duration, longer than four missed renewals of 10 s. */
const leaseDurationSeconds = 40

export function nodeLabels({ name, architecture }: MachineInfo, { labels }: Dialect): Readonly<Record<string, string>> {
  return { [labels.hostname]: name, [labels.operatingSystem]: 'linux', [labels.architecture]: architecture }
}

export function nodeObject(machine: MachineInfo, dialect: Dialect): ApiObject {
  return { apiVersion: 'v1', kind: 'Node', metadata: { name: machine.name, labels: nodeLabels(machine, dialect) } }
}

/** `readySince` stays while the node stays ready (RFC 3339, as is `now`). */
export function nodeStatus(machine: MachineInfo, time: { readonly now: string; readonly readySince: string }) {
  const amounts = {
    cpu: String(machine.cpus),
    memory: `${Math.floor(machine.memoryBytes / 1024)}Ki`,
    pods: String(maxPods),
  }
  return {
    addresses: [
      ...machine.addresses.map((address) => ({ type: 'InternalIP', address })),
      { type: 'Hostname', address: machine.name },
    ],
    capacity: amounts,
    allocatable: amounts,
    // Prometheus finds the port of a node's metrics here.
    daemonEndpoints: { kubeletEndpoint: { Port: machine.agentPort } },
    nodeInfo: {
      operatingSystem: 'linux',
      architecture: machine.architecture,
      kernelVersion: machine.kernelVersion,
      osImage: machine.osImage,
      kubeletVersion: machine.version,
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

/** Formats `renewTime` in RFC 3339 with microseconds. */
export function leaseSpec(name: string, renewTime: string) {
  return { holderIdentity: name, leaseDurationSeconds, renewTime }
}
