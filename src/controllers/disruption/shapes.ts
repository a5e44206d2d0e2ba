import { z } from 'zod'
import { conditionSchema, intOrPercent, listOf, selectorSchema } from '../objects/parts.ts'
import { metadataSchema, optional, otherwise, texts } from '../runtime/metadata.ts'
import { resourceType } from '../runtime/resource-type.ts'

const statusSchema = z.looseObject({
  observedGeneration: otherwise(z.number(), 0),
  disruptedPods: texts,
  disruptionsAllowed: otherwise(z.number(), 0),
  currentHealthy: otherwise(z.number(), 0),
  desiredHealthy: otherwise(z.number(), 0),
  expectedPods: otherwise(z.number(), 0),
  conditions: listOf(conditionSchema),
})

const noStatus = {
  observedGeneration: 0,
  disruptedPods: {},
  disruptionsAllowed: 0,
  currentHealthy: 0,
  desiredHealthy: 0,
  expectedPods: 0,
  conditions: [],
}

const budgetSchema = z.object({
  metadata: metadataSchema,
  spec: otherwise(
    z.object({
      minAvailable: optional(intOrPercent),
      maxUnavailable: optional(intOrPercent),
      selector: optional(selectorSchema),
    }),
    { minAvailable: undefined, maxUnavailable: undefined, selector: undefined },
  ),
  status: otherwise(statusSchema, noStatus),
})

export type Budget = z.output<typeof budgetSchema>

export const budgetType = resourceType('policy', 'v1', 'poddisruptionbudgets', 'PodDisruptionBudget', budgetSchema)
