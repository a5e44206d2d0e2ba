import type { WantedPod } from './plan.ts'
import type { StoredPod } from './pod-folders.ts'
import type { ContainerSpec, PodSpec } from './pod-spec.ts'
import type { ContainerRun } from './runtime.ts'
import { containerId } from './status.ts'

/** The part of a pod that decides what happens to it. */
export function wantedOf({ spec, deletion }: PodSpec): WantedPod {
  return {
    restartPolicy: spec.restartPolicy,
    graceSeconds: spec.terminationGracePeriodSeconds,
    initContainers: spec.initContainers.map(({ name }) => name),
    containers: spec.containers.map(({ name }) => name),
    deletion,
  }
}

/** Also among the init containers. */
export function findContainer({ spec }: PodSpec, name: string): ContainerSpec | undefined {
  return [...spec.initContainers, ...spec.containers].find((container) => container.name === name)
}

/** What is written down of a pod before anything is made for it. */
export function newRecord({ uid, namespace, name, spec }: PodSpec, engineSocket: string | undefined): StoredPod {
  const ports = spec.containers.flatMap((container) => container.ports.filter(({ hostPort }) => hostPort > 0))
  const portMappings = ports.map(({ hostPort, containerPort, protocol, hostIP }) => ({
    hostPort,
    containerPort,
    protocol: protocol.toLowerCase() as 'tcp' | 'udp' | 'sctp',
    ...(hostIP === undefined ? {} : { hostIP }),
  }))
  const { hostNetwork } = spec
  const image = spec.containers[0]?.image ?? ''
  const engine = engineSocket === undefined ? {} : { engineSocket }
  return { uid, namespace, name, hostNetwork, portMappings, image, ...engine, sandbox: 'none', ips: [], containers: {} }
}

/** The API says that this very run was ready: true also when another agent said so. */
export function wasReady({ uid, status }: PodSpec, { container, attempt }: ContainerRun): boolean {
  const statuses = Array.isArray(status['containerStatuses']) ? status['containerStatuses'] : []
  const id = containerId(uid, container, attempt)
  return statuses.some((each) => each?.name === container && each.containerID === id && each.ready === true)
}
