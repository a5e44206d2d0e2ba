import { z } from 'zod'
import { type Metadata, otherwise, texts } from '../runtime/metadata.ts'

/** The metadata of a template; unknown fields are kept, because all of it is copied. */
export const templateSchema = z.looseObject({
  metadata: otherwise(z.looseObject({ labels: texts, annotations: texts }), { labels: {}, annotations: {} }),
  spec: otherwise(z.looseObject({}), {}),
})

export const conditionSchema = z.looseObject({
  type: z.string(),
  status: z.string(),
  reason: otherwise(z.string(), ''),
  message: otherwise(z.string(), ''),
  /** Null where the writer of the condition gave none, as Go encodes a time that is not set. */
  lastTransitionTime: otherwise(z.string().nullable(), null),
  lastHeartbeatTime: z.string().nullish(),
})

export const selectorSchema = z.object({
  matchLabels: texts,
  matchExpressions: otherwise(
    z.array(
      z.object({
        key: z.string(),
        operator: z.enum(['In', 'NotIn', 'Exists', 'DoesNotExist']),
        values: otherwise(z.array(z.string()), []),
      }),
    ),
    [],
  ),
})

export const intOrPercent = z.union([z.number(), z.string()])

export type Condition = z.output<typeof conditionSchema>
export type PodTemplate = z.output<typeof templateSchema>
export type Selector = z.output<typeof selectorSchema>
export type IntOrPercent = z.output<typeof intOrPercent>

/** Returns the schema of a list; null is an empty list, because Go encodes an empty list as null. */
export function listOf<S extends z.ZodType>(item: S) {
  return otherwise(z.array(item), [])
}

export const protocol = z.enum(['TCP', 'UDP', 'SCTP']).default('TCP')

/** An object that may have owner references. */
export interface ControlledObject {
  readonly metadata: Metadata
}
