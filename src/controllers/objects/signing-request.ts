import { z } from 'zod'
import type { JsonObject } from '../../model/api-object.ts'
import { identitySchema, optional, otherwise } from '../runtime/metadata.ts'
import { listOf } from './parts.ts'

const conditionSchema = z.looseObject({ type: z.string(), lastUpdateTime: otherwise(z.string(), '') })

export const signingRequestSchema = z.object({
  metadata: identitySchema.extend({ creationTimestamp: otherwise(z.string(), '') }),
  spec: z.object({
    request: otherwise(z.string(), ''),
    signerName: otherwise(z.string(), ''),
    expirationSeconds: optional(z.number()),
    usages: listOf(z.string()),
    username: otherwise(z.string(), ''),
    uid: optional(z.string()),
    groups: listOf(z.string()),
    extra: optional(z.record(z.string(), z.array(z.string()))),
  }),
  status: otherwise(z.object({ conditions: listOf(conditionSchema), certificate: otherwise(z.string(), '') }), {
    conditions: [],
    certificate: '',
  }),
})

export type SigningRequest = z.output<typeof signingRequestSchema>

export function hasCondition({ status }: SigningRequest, ...types: readonly string[]): boolean {
  return status.conditions.some(({ type }) => types.includes(type))
}

/** Returns the PEM of the request. */
export function requestPemOf({ spec }: SigningRequest): string {
  return Buffer.from(spec.request, 'base64').toString('latin1')
}

/** Returns the status with one more condition; the server sets its times. */
export function withDecision({ status }: SigningRequest, type: string, reason: string, message: string): JsonObject {
  const condition = { type, status: 'True', reason, message }
  return { conditions: [...(status.conditions as readonly JsonObject[]), condition] }
}
