import { z } from 'zod'
import { listOf } from '../../objects/parts.ts'
import { metadataSchema, optional, otherwise, texts } from '../../runtime/metadata.ts'
import { resourceType } from '../../runtime/resource-type.ts'

const referenceSchema = z.looseObject({
  name: otherwise(z.string(), ''),
  namespace: otherwise(z.string(), ''),
  uid: otherwise(z.string(), ''),
})

const templateSchema = z.object({
  metadata: otherwise(z.object({ labels: texts, annotations: texts }), { labels: {}, annotations: {} }),
  spec: otherwise(z.looseObject({}), {}),
})

export const cronJobSchema = z.object({
  metadata: metadataSchema,
  spec: z.object({
    schedule: otherwise(z.string(), ''),
    timeZone: optional(z.string()),
    startingDeadlineSeconds: optional(z.number()),
    concurrencyPolicy: otherwise(z.string(), 'Allow'),
    suspend: otherwise(z.boolean(), false),
    successfulJobsHistoryLimit: optional(z.number()),
    failedJobsHistoryLimit: optional(z.number()),
    jobTemplate: templateSchema,
  }),
  status: otherwise(
    z.object({
      active: listOf(referenceSchema),
      lastScheduleTime: optional(z.string()),
      lastSuccessfulTime: optional(z.string()),
    }),
    { active: [], lastScheduleTime: undefined, lastSuccessfulTime: undefined },
  ),
})

export type CronJob = z.output<typeof cronJobSchema>
export type JobReference = z.output<typeof referenceSchema>

export const cronJobType = resourceType('batch', 'v1', 'cronjobs', 'CronJob', cronJobSchema)
export const cronJobsResource = cronJobType.resource
