import { z } from 'zod'
import type { Dialect } from '../model/dialect.ts'
import { metadataSchema, resourceType } from './runtime/resource-type.ts'

/** Go writes an empty list as null. */
function listOf<S extends z.ZodType>(item: S) {
  return z
    .array(item)
    .nullish()
    .transform((items) => items ?? [])
}

const protocol = z.enum(['TCP', 'UDP', 'SCTP']).default('TCP')

const containerSchema = z.object({
  restartPolicy: z.string().optional(),
  ports: listOf(z.object({ name: z.string().optional(), containerPort: z.number(), protocol })),
})

const podSchema = z.object({
  metadata: metadataSchema,
  spec: z.object({
    nodeName: z.string().optional(),
    hostname: z.string().optional(),
    subdomain: z.string().optional(),
    containers: listOf(containerSchema),
    initContainers: listOf(containerSchema),
  }),
  status: z
    .object({
      phase: z.string().optional(),
      podIP: z.string().optional(),
      podIPs: listOf(z.object({ ip: z.string() })),
      conditions: listOf(z.object({ type: z.string(), status: z.string(), lastTransitionTime: z.string().nullish() })),
    })
    .prefault({}),
})

const servicePortSchema = z.object({
  name: z.string().default(''),
  protocol,
  port: z.number(),
  targetPort: z.union([z.number(), z.string()]).optional(),
  appProtocol: z.string().optional(),
})

const serviceSchema = z.object({
  metadata: metadataSchema,
  spec: z.object({
    type: z.string().default('ClusterIP'),
    selector: z.record(z.string(), z.string()).nullish(),
    clusterIP: z.string().optional(),
    ipFamilies: listOf(z.enum(['IPv4', 'IPv6'])),
    ports: listOf(servicePortSchema),
    publishNotReadyAddresses: z.boolean().default(false),
    trafficDistribution: z.string().optional(),
  }),
})

const nodeSchema = z.object({ metadata: metadataSchema })

const targetRefSchema = z.object({
  kind: z.string().optional(),
  namespace: z.string().optional(),
  name: z.string().optional(),
  uid: z.string().optional(),
})

const hintSchema = listOf(z.object({ name: z.string() }))

const sliceEndpointSchema = z.object({
  addresses: z.array(z.string()),
  conditions: z
    .object({ ready: z.boolean().nullish(), serving: z.boolean().nullish(), terminating: z.boolean().nullish() })
    .prefault({}),
  hostname: z.string().optional(),
  nodeName: z.string().optional(),
  zone: z.string().optional(),
  targetRef: targetRefSchema.optional(),
  hints: z.object({ forZones: hintSchema, forNodes: hintSchema }).nullish(),
})

const slicePortSchema = z.object({
  name: z.string().nullish(),
  protocol,
  port: z.number().nullish(),
  appProtocol: z.string().optional(),
})

const endpointSliceSchema = z.object({
  metadata: metadataSchema,
  addressType: z.enum(['IPv4', 'IPv6', 'FQDN']),
  endpoints: listOf(sliceEndpointSchema),
  ports: listOf(slicePortSchema),
})

const addressSchema = z.object({
  ip: z.string(),
  hostname: z.string().optional(),
  nodeName: z.string().optional(),
  targetRef: targetRefSchema.optional(),
})

const subsetSchema = z.object({
  addresses: listOf(addressSchema),
  notReadyAddresses: listOf(addressSchema),
  ports: listOf(
    z.object({ name: z.string().default(''), port: z.number(), protocol, appProtocol: z.string().optional() }),
  ),
})

const endpointsSchema = z.object({ metadata: metadataSchema, subsets: listOf(subsetSchema) })

/** A node's sign of life, in `kube-node-lease`. */
const leaseSchema = z.object({
  metadata: metadataSchema,
  spec: z.object({ renewTime: z.string().nullish() }).prefault({}),
})

export type Pod = z.output<typeof podSchema>
export type Service = z.output<typeof serviceSchema>
export type Node = z.output<typeof nodeSchema>
export type EndpointSlice = z.output<typeof endpointSliceSchema>
export type Endpoints = z.output<typeof endpointsSchema>
export type EndpointSubset = z.output<typeof subsetSchema>

/** The resources that more than one controller watches, in the shape they see. Made once a manager: caches are shared by type. */
export function createShapes(dialect: Dialect) {
  return {
    pods: resourceType('', 'v1', 'pods', 'Pod', podSchema),
    services: resourceType('', 'v1', 'services', 'Service', serviceSchema),
    nodes: resourceType('', 'v1', 'nodes', 'Node', nodeSchema),
    endpoints: resourceType('', 'v1', 'endpoints', 'Endpoints', endpointsSchema),
    leases: resourceType(dialect.groups.coordination, 'v1', 'leases', 'Lease', leaseSchema),
    endpointSlices: resourceType(
      dialect.groups.discovery,
      'v1',
      'endpointslices',
      'EndpointSlice',
      endpointSliceSchema,
    ),
  }
}

export type Shapes = ReturnType<typeof createShapes>
