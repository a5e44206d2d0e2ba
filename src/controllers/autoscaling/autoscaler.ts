import { z } from 'zod'
import { conditionSchema, listOf } from '../objects/parts.ts'
import { metadataSchema, optional, otherwise } from '../runtime/metadata.ts'
import { resourceType } from '../runtime/resource-type.ts'

const quantity = optional(z.union([z.string(), z.number()]).transform(String))

const targetSchema = z.object({
  type: otherwise(z.string(), ''),
  averageUtilization: optional(z.number()),
  averageValue: quantity,
})

const resourceSchema = z.object({ name: z.string(), container: optional(z.string()), target: targetSchema })
const namedSchema = optional(z.object({ metric: z.object({ name: otherwise(z.string(), '') }) }))

const metricSchema = z.object({
  type: z.string(),
  resource: optional(resourceSchema),
  containerResource: optional(resourceSchema),
  pods: namedSchema,
  object: namedSchema,
  external: namedSchema,
})

const rulesSchema = z.object({
  stabilizationWindowSeconds: optional(z.number()),
  selectPolicy: otherwise(z.string(), 'Max'),
  policies: listOf(z.object({ type: z.string(), value: z.number(), periodSeconds: z.number() })),
  tolerance: quantity,
})

const specSchema = z.object({
  scaleTargetRef: z.object({ apiVersion: otherwise(z.string(), ''), kind: z.string(), name: z.string() }),
  minReplicas: otherwise(z.number(), 1),
  maxReplicas: z.number(),
  metrics: listOf(metricSchema),
  behavior: optional(z.object({ scaleUp: rulesSchema, scaleDown: rulesSchema })),
})

const noStatus = {
  conditions: [],
  desiredReplicas: 0,
  currentReplicas: undefined,
  lastScaleTime: undefined,
  currentMetrics: undefined,
}

const statusSchema = z.looseObject({
  conditions: listOf(conditionSchema),
  desiredReplicas: otherwise(z.number(), 0),
  currentReplicas: optional(z.number()),
  lastScaleTime: optional(z.string()),
  currentMetrics: optional(z.array(z.unknown())),
})

const autoscalerSchema = z.object({
  metadata: metadataSchema,
  spec: specSchema,
  status: otherwise(statusSchema, noStatus),
})

/** A HorizontalPodAutoscaler with the fields that its controller reads. */
export type Autoscaler = z.output<typeof autoscalerSchema>
export type Metric = z.output<typeof metricSchema>
export type ScalingRules = z.output<typeof rulesSchema>

export const autoscalerType = resourceType(
  'autoscaling',
  'v2',
  'horizontalpodautoscalers',
  'HorizontalPodAutoscaler',
  autoscalerSchema,
)

/** The settings of all autoscalers, with Kubernetes' names. */
export interface AutoscalingSettings {
  readonly syncPeriodMs: number
  /** How long a higher recommendation holds back a scale down, where the behavior does not say it. */
  readonly downscaleStabilizationMs: number
  /** The deviation of the measured ratio from 1 that changes nothing. */
  readonly tolerance: number
  /** How long after its start the CPU use of a pod counts only while it is ready. */
  readonly cpuInitializationPeriodMs: number
  /** How long after its start a pod that is not ready counts as one that has never been ready. */
  readonly initialReadinessDelayMs: number
  readonly concurrentSyncs: number
}
