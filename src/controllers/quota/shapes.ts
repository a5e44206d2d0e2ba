import { z } from 'zod'
import { metadataSchema, otherwise } from '../runtime/metadata.ts'
import { resourceType } from '../runtime/resource-type.ts'

const amounts = otherwise(
  z.record(
    z.string(),
    z.union([z.string(), z.number()]).transform((amount) => String(amount)),
  ),
  {},
)

const quotaSchema = z.object({
  metadata: metadataSchema,
  spec: otherwise(z.looseObject({ hard: amounts }), { hard: {} }),
  status: otherwise(z.object({ hard: amounts, used: amounts }), { hard: {}, used: {} }),
})

export type Quota = z.output<typeof quotaSchema>

export const quotaType = resourceType('', 'v1', 'resourcequotas', 'ResourceQuota', quotaSchema)
