import { z } from 'zod'

/** What the API leaves out, or says with null, as the value it stands for. */
export function otherwise<S extends z.ZodType>(schema: S, fallback: z.output<S>) {
  return schema.nullish().transform((value): z.output<S> => value ?? fallback)
}

export const optional = <S extends z.ZodType>(schema: S) => schema.nullish().transform((value) => value ?? undefined)

const texts = otherwise(z.record(z.string(), z.string()), {})

const ownerReferenceSchema = z.looseObject({
  apiVersion: z.string(),
  kind: z.string(),
  name: z.string(),
  uid: z.string(),
  controller: otherwise(z.boolean(), false),
  blockOwnerDeletion: otherwise(z.boolean(), false),
})

export const metaSchema = z.looseObject({
  name: otherwise(z.string(), ''),
  namespace: optional(z.string()),
  uid: otherwise(z.string(), ''),
  resourceVersion: otherwise(z.string(), ''),
  generation: otherwise(z.number(), 0),
  labels: texts,
  annotations: texts,
  creationTimestamp: otherwise(z.string(), ''),
  deletionTimestamp: optional(z.string()),
  finalizers: otherwise(z.array(z.string()), []),
  ownerReferences: otherwise(z.array(ownerReferenceSchema), []),
})

/** A template's metadata: everything of it is copied. */
export const templateSchema = z.looseObject({
  metadata: otherwise(z.looseObject({ labels: texts, annotations: texts }), { labels: {}, annotations: {} }),
  spec: otherwise(z.looseObject({}), {}),
})

export const conditionSchema = z.looseObject({
  type: z.string(),
  status: z.string(),
  reason: otherwise(z.string(), ''),
  message: otherwise(z.string(), ''),
  lastTransitionTime: otherwise(z.string(), ''),
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

export type Meta = z.output<typeof metaSchema>
export type OwnerReference = z.output<typeof ownerReferenceSchema>
export type Condition = z.output<typeof conditionSchema>
export type PodTemplate = z.output<typeof templateSchema>
export type Selector = z.output<typeof selectorSchema>
export type IntOrPercent = z.output<typeof intOrPercent>

/** What every object has, with the kind it is of. */
export interface ControlledObject {
  readonly metadata: Meta
}
