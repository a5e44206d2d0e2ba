import { z } from 'zod'
import type { WireObject } from '../../client/index.ts'
import { objectKey } from '../../model/api-object.ts'
import { none } from '../../model/compact.ts'
import type { Dialect } from '../../model/dialect.ts'
import { fields, type Problem } from '../state/index.ts'
import type { PodRecord } from './cluster-state.ts'
import { readPolicyPod } from './read-policy-pod.ts'

export interface PodSource {
  readonly nodeName: string
  readonly dialect: Dialect
}

interface ReadPod {
  /** Undefined for a pod of which nothing can be relied on. */
  readonly record: PodRecord | undefined
  readonly problems: readonly Problem[]
}

const lifeSchema = z.object({
  uid: z.string().default(''),
  creationTimestamp: z.string().optional(),
  deletionTimestamp: z.string().nullish(),
  annotations: z.record(z.string(), z.unknown()).nullish(),
})

/** Reads a Pod of the API into what this node keeps of it. */
export function readPodRecord(object: WireObject, { nodeName, dialect }: PodSource): ReadPod {
  const { namespace = '', name } = object.metadata
  const { value, problems } = readPolicyPod(object, nodeName)
  if (value === undefined && problems.length > 0) return { record: undefined, problems }
  const life = lifeSchema.safeParse(object.metadata).data
  const lifetime = {
    uid: lifeOf(life?.uid ?? '', life?.annotations?.[dialect.annotations.mirrorPod]),
    isTerminating: typeof life?.deletionTimestamp === 'string',
    createdAtMs: Date.parse(life?.creationTimestamp ?? '') || 0,
  }
  const key = objectKey(namespace, name)
  const outside = { labels: {}, ips: none, ports: none, isLocal: false }
  const { labels, ips, ports, isLocal } = value ?? outside
  return {
    record: { key, namespace, labels, ips, ports, isLocal, isOutside: value === undefined, ...lifetime },
    problems,
  }
}

/** Returns the life of a pod as its runtime names it: of a static pod that is the value of the annotation, not the uid of the object. */
function lifeOf(uid: string, mirror: unknown): string {
  return typeof mirror === 'string' && mirror !== '' ? mirror : uid
}

const keptMetadata = [
  'name',
  'namespace',
  'uid',
  'resourceVersion',
  'creationTimestamp',
  'deletionTimestamp',
  'labels',
] as const

/**
 * Reduces a Pod of the API to what `readPodRecord` reads, as soon as it is parsed: a list of all pods of a large cluster is a hundred times
 * as large as what this node needs of it. What is no Pod is returned as it came.
 */
export function reducePod(json: unknown, dialect: Dialect): unknown {
  if (!fields.isRecord(json)) return json
  const { metadata, spec, status } = json
  if (!fields.isRecord(metadata) || !fields.isRecord(spec)) return json
  const { mirrorPod } = dialect.annotations
  const annotations = fields.isRecord(metadata['annotations']) ? pick(metadata['annotations'], [mirrorPod]) : {}
  return {
    metadata: { ...pick(metadata, keptMetadata), ...(mirrorPod in annotations && { annotations }) },
    spec: {
      ...pick(spec, ['nodeName', 'hostNetwork']),
      ...reduceContainers(spec, 'containers'),
      ...reduceContainers(spec, 'initContainers'),
    },
    status: fields.isRecord(status) ? pick(status, ['phase', 'podIP', 'podIPs']) : status,
  }
}

function reduceContainers(spec: Readonly<Record<string, unknown>>, list: string): object {
  const containers = spec[list]
  if (!Array.isArray(containers)) return pick(spec, [list])
  const ofPorts = containers.map((container: unknown) =>
    fields.isRecord(container) ? pick(container, ['ports', 'restartPolicy']) : container,
  )
  return { [list]: ofPorts }
}

function pick(record: Readonly<Record<string, unknown>>, names: readonly string[]): Record<string, unknown> {
  return Object.fromEntries(names.filter((field) => field in record).map((field) => [field, record[field]]))
}
