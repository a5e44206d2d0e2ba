import { z } from 'zod'
import type { Ip } from '../../model/ip.ts'
import { parseWorkloadIp } from '../../model/special-addresses.ts'
import { metadataSchema, optional, otherwise } from '../runtime/metadata.ts'
import { conditionSchema, listOf, protocol } from './parts.ts'

const amounts = otherwise(z.record(z.string(), z.union([z.string(), z.number()])), {})

const containerSchema = z.object({
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

const noSpec = { containers: [], initContainers: [], schedulerName: '', priority: 0, terminationGracePeriodSeconds: 30 }
const noStatus = { phase: 'Pending', ips: [], conditions: [], containerStatuses: [] }

/** What asks much of a node is kept as it came, and read when the pod is placed. */
const specSchema = z.object({
  nodeName: z.string().optional(),
  hostname: z.string().optional(),
  subdomain: z.string().optional(),
  containers: listOf(containerSchema),
  initContainers: listOf(containerSchema),
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
    podIP: z.string().optional(),
    podIPs: listOf(z.object({ ip: z.string() })),
    conditions: listOf(conditionSchema),
    containerStatuses: listOf(z.object({ restartCount: otherwise(z.number(), 0) })),
    nominatedNodeName: z.string().optional(),
  })
  .transform(({ podIP, podIPs, ...status }) => ({ ...status, ips: parseIps(podIPs, podIP) }))

/** A pod as all controllers see it: one cache for endpoints, workloads, nodes and the scheduler. */
export const podSchema = z.object({
  metadata: metadataSchema,
  spec: otherwise(specSchema, noSpec),
  status: otherwise(statusSchema, noStatus),
})

export type Pod = z.output<typeof podSchema>

/** A pod's addresses in their canonical text, read once and not at each look; what is none, or may be no endpoint (loopback, link-local), is left out. */
function parseIps(podIPs: readonly { readonly ip: string }[], podIP: string | undefined): readonly Ip[] {
  const texts = podIPs.length === 0 && podIP ? [podIP] : podIPs.map(({ ip }) => ip)
  return texts.flatMap((text) => parseWorkloadIp(text) ?? [])
}

/** None for a pod that has no node yet. */
export function nodeNameOf({ spec }: Pod): Iterable<string> {
  return spec.nodeName ? [spec.nodeName] : []
}

export function isReady(pod: Pod): boolean {
  return readyCondition(pod)?.status === 'True'
}

/** Ready for at least `minReadySeconds`; where those are none at once, whatever the node's clock says. */
export function isAvailable(pod: Pod, minReadySeconds: number, nowMs: number): boolean {
  return isReady(pod) && (minReadySeconds <= 0 || availableInMs(pod, minReadySeconds, nowMs) <= 0)
}

/** How long until the next of the pods counts as available; undefined where none is on its way. */
export function nextAvailableInMs(pods: readonly Pod[], minReadySeconds: number, nowMs: number): number | undefined {
  if (minReadySeconds <= 0) return undefined
  let next: number | undefined
  for (const pod of pods) {
    const waitMs = isReady(pod) ? availableInMs(pod, minReadySeconds, nowMs) : 0
    if (waitMs > 0) next = Math.min(waitMs, next ?? waitMs)
  }
  return next
}

/** How long until a ready pod counts as available; zero or less when it does already. */
function availableInMs(pod: Pod, minReadySeconds: number, nowMs: number): number {
  return readySinceMs(pod) + minReadySeconds * 1000 - nowMs
}

/** 0 for a pod that is not ready or does not say since when. */
export function readySinceMs(pod: Pod): number {
  const since = isReady(pod) ? Date.parse(readyCondition(pod)?.lastTransitionTime ?? '') : 0
  return Number.isNaN(since) ? 0 : since
}

/** Neither finished nor on its way out. */
export function isActive(pod: Pod): boolean {
  return !isFinished(pod) && pod.metadata.deletionTimestamp === undefined
}

export function isFinished({ status }: Pod): boolean {
  return status.phase === 'Succeeded' || status.phase === 'Failed'
}

export function readyCondition(pod: Pod) {
  return pod.status.conditions.find(({ type }) => type === 'Ready')
}
