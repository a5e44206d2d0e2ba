import { z } from 'zod'
import type { Ip } from '../../model/ip.ts'
import { parseWorkloadIp } from '../../model/special-addresses.ts'
import { metadataSchema, optional, otherwise } from '../runtime/metadata.ts'
import { conditionSchema, listOf, protocol } from './parts.ts'
import { claimedVolumes } from './pod-claims.ts'

const amounts = otherwise(z.record(z.string(), z.union([z.string(), z.number()])), {})

const containerSchema = z.object({
  name: otherwise(z.string(), ''),
  restartPolicy: optional(z.string()),
  ports: listOf(
    z.object({
      name: z.string().optional(),
      containerPort: otherwise(z.number(), 0),
      protocol,
      hostPort: z.number().optional(),
      hostIP: z.string().optional(),
    }),
  ),
  resources: optional(z.object({ requests: amounts })),
})

/** The state of a container: how often it has started again, and how it ended. */
const containerStateSchema = z.object({
  name: otherwise(z.string(), ''),
  restartCount: otherwise(z.number(), 0),
  state: otherwise(
    z.object({
      terminated: optional(z.object({ exitCode: otherwise(z.number(), 0), finishedAt: optional(z.string()) })),
    }),
    { terminated: undefined },
  ),
})
export type ContainerState = z.output<typeof containerStateSchema>

const noSpec = {
  containers: [],
  initContainers: [],
  volumes: [],
  schedulerName: '',
  priority: 0,
  terminationGracePeriodSeconds: 30,
}
const noStatus = {
  phase: 'Pending',
  startTime: undefined,
  ips: [],
  conditions: [],
  containerStatuses: [],
  initContainerStatuses: [],
}

/** The spec of a pod. Scheduling requirements are kept unparsed; the scheduler parses them when it places the pod. */
const specSchema = z.object({
  nodeName: z.string().optional(),
  hostname: z.string().optional(),
  subdomain: z.string().optional(),
  containers: listOf(containerSchema),
  initContainers: listOf(containerSchema),
  volumes: claimedVolumes,
  schedulerName: otherwise(z.string(), ''),
  priority: otherwise(z.number(), 0),
  preemptionPolicy: z.string().optional(),
  terminationGracePeriodSeconds: otherwise(z.number(), 30),
  nodeSelector: z.unknown().optional(),
  affinity: z.unknown().optional(),
  tolerations: z.unknown().optional(),
  overhead: z.unknown().optional(),
  topologySpreadConstraints: z.unknown().optional(),
  schedulingGates: z.unknown().optional(),
})

const statusSchema = z
  .object({
    phase: otherwise(z.string(), 'Pending'),
    startTime: optional(z.string()),
    podIP: z.string().optional(),
    podIPs: listOf(z.object({ ip: z.string() })),
    conditions: listOf(conditionSchema),
    containerStatuses: listOf(containerStateSchema),
    initContainerStatuses: listOf(containerStateSchema),
    nominatedNodeName: z.string().optional(),
  })
  .transform(({ podIP, podIPs, ...status }) => ({ ...status, ips: parseIps(podIPs, podIP) }))

/** A pod with the fields that any controller reads. Endpoints, workloads, nodes and the scheduler share one cache. */
export const podSchema = z.object({
  metadata: metadataSchema.extend({ deletionGracePeriodSeconds: optional(z.number()) }),
  spec: otherwise(specSchema, noSpec),
  status: otherwise(statusSchema, noStatus),
})

export type Pod = z.output<typeof podSchema>

/**
 * Parses a pod's addresses once, into their canonical text. Leaves out invalid addresses and those that may be no
 * endpoint (loopback, link-local).
 */
function parseIps(podIPs: readonly { readonly ip: string }[], podIP: string | undefined): readonly Ip[] {
  const texts = podIPs.length === 0 && podIP ? [podIP] : podIPs.map(({ ip }) => ip)
  return texts.flatMap((text) => parseWorkloadIp(text) ?? [])
}

/** Returns the name of the pod's node; empty for a pod that is not bound. */
export function nodeNameOf({ spec }: Pod): Iterable<string> {
  return spec.nodeName ? [spec.nodeName] : []
}

export function isReady(pod: Pod): boolean {
  return readyCondition(pod)?.status === 'True'
}

/**
 * Checks whether the pod has been ready for at least `minReadySeconds`. With zero, a ready pod is available at once,
 * whatever the node's clock says.
 */
export function isAvailable(pod: Pod, minReadySeconds: number, nowMs: number): boolean {
  return isReady(pod) && (minReadySeconds <= 0 || availableInMs(pod, minReadySeconds, nowMs) <= 0)
}

/** Returns the time until the next ready pod becomes available; undefined if no ready pod waits for that. */
export function nextAvailableInMs(pods: readonly Pod[], minReadySeconds: number, nowMs: number): number | undefined {
  if (minReadySeconds <= 0) return undefined
  let next: number | undefined
  for (const pod of pods) {
    const waitMs = isReady(pod) ? availableInMs(pod, minReadySeconds, nowMs) : 0
    if (waitMs > 0) next = Math.min(waitMs, next ?? waitMs)
  }
  return next
}

/** Returns the time until a ready pod becomes available; zero or less if it is available. */
function availableInMs(pod: Pod, minReadySeconds: number, nowMs: number): number {
  return readySinceMs(pod) + minReadySeconds * 1000 - nowMs
}

/** Returns the time at which the pod became ready; 0 if it is not ready or the condition has no time. */
export function readySinceMs(pod: Pod): number {
  const since = isReady(pod) ? Date.parse(readyCondition(pod)?.lastTransitionTime ?? '') : 0
  return Number.isNaN(since) ? 0 : since
}

/** Checks whether the pod is neither finished nor being deleted. */
export function isActive(pod: Pod): boolean {
  return !isFinished(pod) && pod.metadata.deletionTimestamp === undefined
}

export function isFinished({ status }: Pod): boolean {
  return status.phase === 'Succeeded' || status.phase === 'Failed'
}

export function readyCondition(pod: Pod) {
  return pod.status.conditions.find(({ type }) => type === 'Ready')
}
