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

/** What is written down of a pod before anything is made for it. Throws PodError `invalid-annotation`. */
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
  return { uid, namespace, name, ...network, image, ...engine, sandbox: 'none', ips: [], containers: {} }
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

/** A second's worth may go at once, and always what the kernel hands over in one piece (64 KiB). */
const leastBurstBits = 8 * 64 * 1024
/** As Kubernetes bounds it: 1k to 1P. */
const [leastRate, mostRate] = [1e3, 1e15]
/** What the bandwidth plugin can count. */
const mostBurstBits = 2 ** 32 - 1
/** The kernel counts the time that a burst takes in 64 ns, in 32 bits. */
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
  const message = `the annotation ${name} is ${JSON.stringify(text)}: expected bits a second from 1k to 1P, such as 10M`
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

/** The API says that this very run was ready: true also when another agent said so. */
export function wasReady({ uid, status }: PodSpec, { container, attempt }: ContainerRun): boolean {
  const statuses = Array.isArray(status['containerStatuses']) ? status['containerStatuses'] : []
  const id = containerId(uid, container, attempt)
  return statuses.some((each) => each?.name === container && each.containerID === id && each.ready === true)
}
