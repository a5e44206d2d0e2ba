import { z } from 'zod'
import { conditionSchema, intOrPercent, selectorSchema, templateSchema } from '../objects/parts.ts'
import { metadataSchema, optional, otherwise, texts } from '../runtime/metadata.ts'

const counts = {
  observedGeneration: otherwise(z.number(), 0),
  replicas: otherwise(z.number(), 0),
  readyReplicas: otherwise(z.number(), 0),
  availableReplicas: otherwise(z.number(), 0),
  conditions: otherwise(z.array(conditionSchema), []),
}
const noCounts = { observedGeneration: 0, replicas: 0, readyReplicas: 0, availableReplicas: 0, conditions: [] }

export const replicaSetSchema = z.looseObject({
  metadata: metadataSchema,
  spec: z.looseObject({
    replicas: otherwise(z.number(), 1),
    minReadySeconds: otherwise(z.number(), 0),
    selector: selectorSchema,
    template: templateSchema,
  }),
  status: otherwise(z.looseObject({ ...counts, fullyLabeledReplicas: otherwise(z.number(), 0) }), {
    ...noCounts,
    fullyLabeledReplicas: 0,
  }),
})
export type ReplicaSet = z.output<typeof replicaSetSchema>

const labelMap = texts.transform((matchLabels) => ({ matchLabels, matchExpressions: [] }))

/** A ReplicationController in the form of a ReplicaSet: its selector is a map of labels. */
export const replicationControllerSchema = replicaSetSchema.extend({
  spec: z.looseObject({
    replicas: otherwise(z.number(), 1),
    minReadySeconds: otherwise(z.number(), 0),
    selector: labelMap,
    template: templateSchema,
  }),
})

const rollingUpdate = z.looseObject({
  maxSurge: otherwise(intOrPercent, '25%'),
  maxUnavailable: otherwise(intOrPercent, '25%'),
})
const defaultRollingUpdate = { maxSurge: '25%', maxUnavailable: '25%' }

export const deploymentSchema = z.looseObject({
  metadata: metadataSchema,
  spec: z.looseObject({
    replicas: otherwise(z.number(), 1),
    minReadySeconds: otherwise(z.number(), 0),
    revisionHistoryLimit: otherwise(z.number(), 10),
    progressDeadlineSeconds: otherwise(z.number(), 600),
    paused: otherwise(z.boolean(), false),
    selector: selectorSchema,
    template: templateSchema,
    strategy: otherwise(
      z.looseObject({
        type: otherwise(z.enum(['RollingUpdate', 'Recreate']), 'RollingUpdate'),
        rollingUpdate: otherwise(rollingUpdate, defaultRollingUpdate),
      }),
      { type: 'RollingUpdate', rollingUpdate: defaultRollingUpdate },
    ),
  }),
  status: otherwise(
    z.looseObject({
      ...counts,
      updatedReplicas: otherwise(z.number(), 0),
      unavailableReplicas: otherwise(z.number(), 0),
      collisionCount: otherwise(z.number(), 0),
    }),
    { ...noCounts, updatedReplicas: 0, unavailableReplicas: 0, collisionCount: 0 },
  ),
})
export type Deployment = z.output<typeof deploymentSchema>

const claimTemplate = z.looseObject({
  metadata: otherwise(z.looseObject({ name: z.string(), labels: texts, annotations: texts }), {
    name: '',
    labels: {},
    annotations: {},
  }),
  spec: otherwise(z.looseObject({}), {}),
})
const retention = otherwise(z.enum(['Retain', 'Delete']), 'Retain')

const partitioned = z.looseObject({ partition: otherwise(z.number(), 0) })

export const statefulSetSchema = z.looseObject({
  metadata: metadataSchema,
  spec: z.looseObject({
    replicas: otherwise(z.number(), 1),
    minReadySeconds: otherwise(z.number(), 0),
    revisionHistoryLimit: otherwise(z.number(), 10),
    serviceName: otherwise(z.string(), ''),
    podManagementPolicy: otherwise(z.enum(['OrderedReady', 'Parallel']), 'OrderedReady'),
    ordinals: otherwise(z.looseObject({ start: otherwise(z.number(), 0) }), { start: 0 }),
    selector: selectorSchema,
    template: templateSchema,
    volumeClaimTemplates: otherwise(z.array(claimTemplate), []),
    persistentVolumeClaimRetentionPolicy: otherwise(z.looseObject({ whenDeleted: retention, whenScaled: retention }), {
      whenDeleted: 'Retain',
      whenScaled: 'Retain',
    }),
    updateStrategy: otherwise(
      z.looseObject({
        type: otherwise(z.enum(['RollingUpdate', 'OnDelete']), 'RollingUpdate'),
        rollingUpdate: otherwise(partitioned, { partition: 0 }),
      }),
      { type: 'RollingUpdate', rollingUpdate: { partition: 0 } },
    ),
  }),
  status: otherwise(
    z.looseObject({
      ...counts,
      currentReplicas: otherwise(z.number(), 0),
      updatedReplicas: otherwise(z.number(), 0),
      currentRevision: otherwise(z.string(), ''),
      updateRevision: otherwise(z.string(), ''),
      collisionCount: optional(z.number()),
    }),
    {
      ...noCounts,
      currentReplicas: 0,
      updatedReplicas: 0,
      currentRevision: '',
      updateRevision: '',
      collisionCount: undefined,
    },
  ),
})
export type StatefulSet = z.output<typeof statefulSetSchema>

const surging = z.looseObject({ maxSurge: otherwise(intOrPercent, 0), maxUnavailable: otherwise(intOrPercent, 1) })

export const daemonSetSchema = z.looseObject({
  metadata: metadataSchema,
  spec: z.looseObject({
    minReadySeconds: otherwise(z.number(), 0),
    revisionHistoryLimit: otherwise(z.number(), 10),
    selector: selectorSchema,
    template: templateSchema,
    updateStrategy: otherwise(
      z.looseObject({
        type: otherwise(z.enum(['RollingUpdate', 'OnDelete']), 'RollingUpdate'),
        rollingUpdate: otherwise(surging, { maxSurge: 0, maxUnavailable: 1 }),
      }),
      { type: 'RollingUpdate', rollingUpdate: { maxSurge: 0, maxUnavailable: 1 } },
    ),
  }),
  status: otherwise(z.looseObject({}), {}),
})
export type DaemonSet = z.output<typeof daemonSetSchema>

export const controllerRevisionSchema = z.looseObject({
  metadata: metadataSchema,
  revision: otherwise(z.number(), 0),
  data: otherwise(z.looseObject({}), {}),
})
export type ControllerRevision = z.output<typeof controllerRevisionSchema>
