import { z } from 'zod'
import { type ApiClient, listPages } from '../../client/index.ts'
import type { ObjectKey } from '../../model/api-object.ts'
import type { Dialect } from '../../model/dialect.ts'
import { type Ip, parseIp } from '../../model/ip.ts'
import type { PolicyPod } from '../../model/network-policy.ts'
import type { Node } from '../../model/node.ts'
import { parseNode } from '../state/index.ts'
import { readPolicyPod } from './read-policy-pod.ts'

/** A Pod of the API as a question about a flow needs it. */
export interface AskedPod {
  readonly key: ObjectKey
  /** Undefined until the pod is scheduled. */
  readonly nodeName: string | undefined
  /** `host-network`: its addresses are those of its node; `finished`: it has none any more. */
  readonly kind: 'pod' | 'host-network' | 'finished'
  readonly isTerminating: boolean
  readonly createdAtMs: number
  /** The addresses of its status. */
  readonly ips: readonly Ip[]
  readonly hostPorts: readonly HostPort[]
  /** The pod as policies see it; undefined for other kinds and for one that cannot be read. */
  readonly pod: PolicyPod | undefined
}

interface HostPort {
  readonly protocol: string
  readonly hostPort: number
  readonly containerPort: number
  /** The address of the node that it is bound to; undefined for all of them. */
  readonly hostIp: Ip | undefined
}

/** The objects of the cluster that this node does not follow. Both throw ApiError. */
export interface ClusterLookup {
  pods(): Promise<readonly AskedPod[]>
  nodes(): Promise<readonly Pick<Node, 'name' | 'addresses'>[]>
}

/** Lists all Pods and Nodes of the API server, in slices; each Pod is reduced as soon as it is parsed. */
export function createClusterLookup(client: ApiClient, dialect: Dialect, nodeName: string): ClusterLookup {
  const core = (resource: string) => ({ resource: { group: '', version: 'v1', resource } })
  return {
    pods: async () => {
      const { items } = await listPages(client, core('pods'), { reduce: (json) => readAskedPod(json, nodeName) })
      return items.filter(isAskedPod)
    },
    nodes: async () => {
      const { items } = await listPages(client, core('nodes'))
      return items.flatMap((json) => parseNode(json, dialect).value ?? [])
    },
  }
}

const portSchema = z.object({
  protocol: z.string().default('TCP'),
  hostPort: z.int().min(1),
  containerPort: z.int().min(1),
  hostIP: z.string().optional(),
})

const podSchema = z.object({
  metadata: z.object({
    name: z.string(),
    namespace: z.string(),
    creationTimestamp: z.string().default(''),
    deletionTimestamp: z.string().nullish(),
  }),
  spec: z.object({
    nodeName: z.string().optional(),
    hostNetwork: z.boolean().nullish(),
    containers: z.array(z.object({ ports: z.array(z.unknown()).nullish() })).default([]),
  }),
  status: z
    .object({
      phase: z.string().optional(),
      podIP: z.string().optional(),
      podIPs: z.array(z.object({ ip: z.string().default('') })).nullish(),
    })
    .default({}),
})

/** Reads a Pod of the API; undefined for what is no Pod. */
export function readAskedPod(json: unknown, localNode: string): AskedPod | undefined {
  const { success, data } = podSchema.safeParse(json)
  if (!success) return undefined
  const { metadata, spec, status } = data
  const isFinished = status.phase === 'Succeeded' || status.phase === 'Failed'
  const addresses = [...(status.podIPs ?? []).map(({ ip }) => ip), status.podIP ?? ''].flatMap(
    (ip) => parseIp(ip) ?? [],
  )
  return {
    key: `${metadata.namespace}/${metadata.name}`,
    nodeName: spec.nodeName,
    kind: isFinished ? 'finished' : spec.hostNetwork === true ? 'host-network' : 'pod',
    isTerminating: typeof metadata.deletionTimestamp === 'string',
    createdAtMs: Date.parse(metadata.creationTimestamp) || 0,
    ips: [...new Set(addresses)],
    hostPorts: spec.containers.flatMap(({ ports }) => (ports ?? []).flatMap(readHostPort)),
    pod: readPolicyPod(json, localNode).value,
  }
}

function readHostPort(json: unknown): readonly HostPort[] {
  const { success, data } = portSchema.safeParse(json)
  if (!success) return []
  const { hostIP = '', ...port } = data
  const hostIp = parseIp(hostIP)
  return [{ ...port, hostIp: hostIp === '0.0.0.0' || hostIp === '::' ? undefined : hostIp }]
}

function isAskedPod(item: unknown): item is AskedPod {
  return item !== undefined
}
