import { z } from 'zod'
import { metadataSchema, otherwise } from '../runtime/metadata.ts'
import { conditionSchema, listOf } from './parts.ts'

export const namespaceSchema = z.object({
  metadata: metadataSchema,
  spec: otherwise(z.object({ finalizers: listOf(z.string()) }), { finalizers: [] }),
  status: otherwise(z.object({ conditions: listOf(conditionSchema) }), { conditions: [] }),
})

export type Namespace = z.output<typeof namespaceSchema>
