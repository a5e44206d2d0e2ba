import type { Dialect } from '../../model/dialect.ts'
import { parseQuantity } from '../../model/quantity.ts'
import type { Bandwidth } from '../cni/index.ts'
import { PodError } from './errors.ts'
import type { ContainerRecord, WantedPod } from './plan.ts'
import type { StoredPod } from './pod-folders.ts'
import type { ContainerSpec, PodSpec } from './pod-spec.ts'
import type { ContainerRun } from './runtime.ts'
import { containerId } from './status.ts'
import type { Observed } from './view-containers.ts'

/** Extracts the part of a pod that decides its next step. */
export function wantedOf({ spec, deletion }: PodSpec): WantedPod {
  return {
    restartPolicy: spec.restartPolicy,
    graceSeconds: spec.terminationGracePeriodSeconds,
    initContainers: spec.initContainers.map(({ name }) => name),
    containers: spec.containers.map(({ name }) => name),
    deletion,
  }
}

/** Finds a container or init container by name. */
export function findContainer({ spec }: PodSpec, name: string): ContainerSpec | undefined {
  return [...spec.initContainers, ...spec.containers].find((container) => container.name === name)
}

/** Creates the first record of a pod, which is stored before anything is created for it. Throws PodError `invalid-annotation`. */
export function newRecord(pod: PodSpec, engineSocket: string | undefined, dialect: Dialect): StoredPod {
  const { uid, namespace, name, spec } = pod
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
  const network = { hostNetwork, portMappings, ...bandwidthOf(pod, dialect) }
  const graceSeconds = spec.terminationGracePeriodSeconds
  return { uid, namespace, name, ...network, image, ...engine, graceSeconds, sandbox: 'none', ips: [], containers: {} }
}

/** Adds to each container how its run ended: a runtime may forget that together with the sandbox. */
export function withEnds(
  containers: Readonly<Record<string, ContainerRecord>>,
  observed: Readonly<Record<string, Observed>>,
): Readonly<Record<string, ContainerRecord>> {
  const entries = Object.entries(containers).map(([name, container]) => {
    const state = observed[name]?.state
    return [name, state?.kind === 'exited' ? { ...container, end: state } : container] as const
  })
  return Object.fromEntries(entries)
}

/** The burst is the traffic of one second, at least the 64 KiB that the kernel passes on in one piece. */
const leastBurstBits = 8 * 64 * 1024
/** Kubernetes' bounds of a rate in bits per second: 1k to 1P. */
const [leastRate, mostRate] = [1e3, 1e15]
/** The maximum of the bandwidth plugin. */
const mostBurstBits = 2 ** 32 - 1
/** The kernel counts the duration of a burst in units of 64 ns, in 32 bits. */
const mostBurstSeconds = 200

function bandwidthOf(pod: PodSpec, { annotations }: Dialect): { readonly bandwidth?: Bandwidth } {
  const ingressRate = rateOf(pod, annotations.ingressBandwidth)
  const egressRate = rateOf(pod, annotations.egressBandwidth)
  if (ingressRate === undefined && egressRate === undefined) return {}
  return {
    bandwidth: {
      ...(ingressRate !== undefined && { ingressRate, ingressBurst: burstOf(ingressRate) }),
      ...(egressRate !== undefined && { egressRate, egressBurst: burstOf(egressRate) }),
    },
  }
}

function rateOf({ key, annotations }: PodSpec, name: string): number | undefined {
  const text = annotations[name]
  if (text === undefined) return undefined
  const rate = readRate(text)
  if (rate >= leastRate && rate <= mostRate) return rate
  const message = `the annotation ${name} is ${JSON.stringify(text)}: expected bits per second from 1k to 1P, for example 10M`
  throw new PodError('invalid-annotation', message, { object: `Pod ${key}` })
}

function readRate(text: string): number {
  try {
    return Number(parseQuantity(text)) / 1000
  } catch {
    return Number.NaN
  }
}

function burstOf(rate: number): number {
  return Math.min(mostBurstBits, rate * mostBurstSeconds, Math.max(leastBurstBits, Math.ceil(rate)))
}

/** Tells whether the status in the API has this run as ready, also if an earlier agent wrote it. */
export function wasReady({ uid, status }: PodSpec, { container, attempt }: ContainerRun): boolean {
  const statuses = Array.isArray(status['containerStatuses']) ? status['containerStatuses'] : []
  const id = containerId(uid, container, attempt)
  return statuses.some((each) => each?.name === container && each.containerID === id && each.ready === true)
}
