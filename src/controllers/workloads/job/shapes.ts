import { z } from 'zod'
import { conditionSchema, listOf, selectorSchema, templateSchema } from '../../objects/parts.ts'
import { metadataSchema, optional, otherwise } from '../../runtime/metadata.ts'
import { resourceType } from '../../runtime/resource-type.ts'

const number = optional(z.number())

const exitCodesSchema = z.object({
  containerName: optional(z.string()),
  operator: z.string(),
  values: listOf(z.number()),
})

const failureRuleSchema = z.object({
  action: z.string(),
  onExitCodes: optional(exitCodesSchema),
  onPodConditions: listOf(z.object({ type: z.string(), status: otherwise(z.string(), 'True') })),
})

const successRuleSchema = z.object({ succeededIndexes: optional(z.string()), succeededCount: number })

const specSchema = z.looseObject({
  parallelism: otherwise(z.number(), 1),
  completions: number,
  backoffLimit: otherwise(z.number(), 6),
  backoffLimitPerIndex: number,
  maxFailedIndexes: number,
  activeDeadlineSeconds: number,
  ttlSecondsAfterFinished: number,
  completionMode: otherwise(z.string(), 'NonIndexed'),
  suspend: otherwise(z.boolean(), false),
  managedBy: optional(z.string()),
  podReplacementPolicy: optional(z.string()),
  podFailurePolicy: optional(z.object({ rules: listOf(failureRuleSchema) })),
  successPolicy: optional(z.object({ rules: listOf(successRuleSchema) })),
  selector: otherwise(selectorSchema, { matchLabels: {}, matchExpressions: [] }),
  template: templateSchema,
})

const uidsSchema = z.object({ succeeded: listOf(z.string()), failed: listOf(z.string()) })
const noUids = { succeeded: [], failed: [] }

const statusSchema = z.looseObject({
  startTime: optional(z.string()),
  completionTime: optional(z.string()),
  conditions: listOf(conditionSchema),
  succeeded: otherwise(z.number(), 0),
  failed: otherwise(z.number(), 0),
  completedIndexes: otherwise(z.string(), ''),
  failedIndexes: optional(z.string()),
  uncountedTerminatedPods: otherwise(uidsSchema, noUids),
})

const noStatus = {
  startTime: undefined,
  completionTime: undefined,
  conditions: [],
  succeeded: 0,
  failed: 0,
  completedIndexes: '',
  failedIndexes: undefined,
  uncountedTerminatedPods: noUids,
}

export const jobSchema = z.object({
  metadata: metadataSchema,
  spec: specSchema,
  status: otherwise(statusSchema, noStatus),
})

export type Job = z.output<typeof jobSchema>
export type FailureRule = z.output<typeof failureRuleSchema>
export type SuccessRule = z.output<typeof successRuleSchema>

export const jobType = resourceType('batch', 'v1', 'jobs', 'Job', jobSchema)
export const jobsResource = jobType.resource

/** Returns the last condition of a Job that has ended: `Complete` or `Failed`. */
export function endOf({ status }: Job) {
  return status.conditions.find(({ type, status: on }) => (type === 'Complete' || type === 'Failed') && on === 'True')
}

export function isIndexed({ spec }: Job): boolean {
  return spec.completionMode === 'Indexed'
}

/** Checks whether a Pod is replaced only when it has ended, not already when it is being deleted. */
export function replacesEndedOnly({ spec }: Job): boolean {
  return spec.podReplacementPolicy === 'Failed' || spec.podFailurePolicy !== undefined
}
