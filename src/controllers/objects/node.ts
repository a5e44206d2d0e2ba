import { z } from 'zod'
import { metadataSchema, otherwise } from '../runtime/metadata.ts'
import { conditionSchema } from './parts.ts'

const taintSchema = z.looseObject({
  key: z.string(),
  value: otherwise(z.string(), ''),
  effect: z.enum(['NoSchedule', 'PreferNoSchedule', 'NoExecute']),
  timeAdded: z.string().nullish(),
})

const amounts = otherwise(z.record(z.string(), z.union([z.string(), z.number()])), {})

export const nodeSchema = z.object({
  metadata: metadataSchema,
  spec: otherwise(
    z.object({
      unschedulable: otherwise(z.boolean(), false),
      taints: otherwise(z.array(taintSchema), []),
      podCIDR: otherwise(z.string(), ''),
      podCIDRs: otherwise(z.array(z.string()), []),
    }),
    { unschedulable: false, taints: [], podCIDR: '', podCIDRs: [] },
  ),
  status: otherwise(
    z.object({
      allocatable: amounts,
      capacity: amounts,
      conditions: otherwise(z.array(conditionSchema), []),
    }),
    { allocatable: {}, capacity: {}, conditions: [] },
  ),
})

export type Node = z.output<typeof nodeSchema>
export type Taint = z.output<typeof taintSchema>
