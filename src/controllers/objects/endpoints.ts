import { z } from 'zod'
import { metadataSchema } from '../runtime/metadata.ts'
import { listOf, protocol } from './parts.ts'

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

export const endpointSliceSchema = z.object({
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

export const endpointsSchema = z.object({ metadata: metadataSchema, subsets: listOf(subsetSchema) })

export type EndpointSlice = z.output<typeof endpointSliceSchema>
export type Endpoints = z.output<typeof endpointsSchema>
export type EndpointSubset = z.output<typeof subsetSchema>
