import { z } from 'zod'
import { metadataSchema, otherwise } from '../runtime/metadata.ts'
import { conditionSchema, listOf } from './parts.ts'

export const serviceCidrSchema = z.object({
  metadata: metadataSchema,
  spec: otherwise(z.object({ cidrs: listOf(z.string()) }), { cidrs: [] }),
  status: otherwise(z.object({ conditions: listOf(conditionSchema) }), { conditions: [] }),
})

const parentSchema = z.object({
  group: otherwise(z.string(), ''),
  resource: otherwise(z.string(), ''),
  namespace: otherwise(z.string(), ''),
  name: otherwise(z.string(), ''),
})

/** An address that is taken; its name is the address. */
export const ipAddressSchema = z.object({
  metadata: metadataSchema,
  spec: z.object({ parentRef: parentSchema }),
})

export type ServiceCidr = z.output<typeof serviceCidrSchema>
export type IpAddress = z.output<typeof ipAddressSchema>
