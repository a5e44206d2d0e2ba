import { z } from 'zod'
import { metadataSchema } from '../runtime/metadata.ts'
import { listOf, protocol } from './parts.ts'

const servicePortSchema = z.object({
  name: z.string().default(''),
  protocol,
  port: z.number(),
  targetPort: z.union([z.number(), z.string()]).optional(),
  appProtocol: z.string().optional(),
  nodePort: z.number().optional(),
})

export const serviceSchema = z.object({
  metadata: metadataSchema,
  spec: z.object({
    type: z.string().default('ClusterIP'),
    selector: z.record(z.string(), z.string()).nullish(),
    clusterIP: z.string().optional(),
    clusterIPs: listOf(z.string()),
    ipFamilies: listOf(z.enum(['IPv4', 'IPv6'])),
    ports: listOf(servicePortSchema),
    publishNotReadyAddresses: z.boolean().default(false),
    trafficDistribution: z.string().optional(),
  }),
})

export type Service = z.output<typeof serviceSchema>
