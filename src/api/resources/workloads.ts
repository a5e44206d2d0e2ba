import { isDeepStrictEqual } from 'node:util'
import type { JsonObject } from '../../model/api-object.ts'
import { type ApiDocument, objectAt, textAt, valueAt } from '../document.ts'
import { type FieldError, invalidField, requiredField } from '../schema/field-error.ts'
import { checkDnsLabel } from '../schema/names.ts'
import type { Schema } from '../schema/schema.ts'
import { defineKind } from './define-kind.ts'
import { formatLabelSelector } from './label-selector.ts'
import { completeTemplate, podSpecDefaults } from './pod-spec/pod-defaults.ts'
import { column, type Resource, type Strategy } from './resource.ts'
import { containerColumnsAt } from './template-columns.ts'
import { validateWorkload, validateWorkloadUpdate, type WorkloadKind } from './workload-rules.ts'
import { validateWorkloadStatus } from './workload-status-rules.ts'

const template: Schema = { properties: { spec: podSpecDefaults } }

/** The kinds Deployment, ReplicaSet, StatefulSet and DaemonSet; their group has the same name in every dialect. */
export function workloads(): readonly Resource[] {
  return [deployments(), replicaSets(), statefulSets(), daemonSets(), controllerRevisions()]
}

const containerColumns = containerColumnsAt('template')
const templateColumns = [
  ...containerColumns,
  column('Selector', ({ spec }) => formatLabelSelector(valueAt(spec, 'selector')), { wide: true }),
]

const common = {
  group: 'apps',
  version: 'v1',
  namespaced: true,
  categories: ['all'],
  subresources: ['status'],
  countsGeneration: true,
} as const

/** The scale subresource; a DaemonSet has none. */
const scalable = {
  subresources: ['status', 'scale'],
  scale: {
    specReplicas: ['spec', 'replicas'],
    statusReplicas: ['status', 'replicas'],
    labelSelector: ['spec', 'selector'],
  },
} as const

function deployments(): Resource {
  return defineKind({
    ...common,
    ...scalable,
    kind: 'Deployment',
    strategy: strategyOf('Deployment', { field: 'strategy', pace: { maxSurge: '25%', maxUnavailable: '25%' } }),
    plural: 'deployments',
    shortNames: ['deploy'],
    defaults: specDefaults({
      replicas: { default: 1 },
      revisionHistoryLimit: { default: 10 },
      progressDeadlineSeconds: { default: 600 },
      strategy: { default: {}, properties: { type: { default: 'RollingUpdate' } } },
    }),
    columns: [
      column('Ready', (document) => readyCell(document, 'readyReplicas')),
      countColumn('Up-to-date', 'updatedReplicas'),
      countColumn('Available', 'availableReplicas'),
      ...templateColumns,
    ],
  })
}

function replicaSets(): Resource {
  return defineKind({
    ...common,
    ...scalable,
    kind: 'ReplicaSet',
    strategy: strategyOf('ReplicaSet'),
    plural: 'replicasets',
    shortNames: ['rs'],
    defaults: specDefaults({ replicas: { default: 1 } }, 'replicas'),
    columns: [
      column('Desired', (document) => Number(textAt(document['spec'], 'replicas'))),
      countColumn('Current', 'replicas'),
      countColumn('Ready', 'readyReplicas'),
      ...templateColumns,
    ],
  })
}

const claimDefaults: Schema = {
  properties: {
    kind: { default: 'PersistentVolumeClaim' },
    apiVersion: { default: 'v1' },
    spec: { properties: { volumeMode: { default: 'Filesystem' } } },
    status: { default: {}, properties: { phase: { default: 'Pending' } } },
  },
}

function statefulSets(): Resource {
  return defineKind({
    ...common,
    ...scalable,
    kind: 'StatefulSet',
    strategy: strategyOf('StatefulSet', { field: 'updateStrategy', pace: { partition: 0 }, leavesBareType: true }),
    plural: 'statefulsets',
    shortNames: ['sts'],
    defaults: specDefaults(
      {
        replicas: { default: 1 },
        revisionHistoryLimit: { default: 10 },
        serviceName: { default: '' },
        podManagementPolicy: { default: 'OrderedReady' },
        persistentVolumeClaimRetentionPolicy: {
          default: {},
          properties: { whenDeleted: { default: 'Retain' }, whenScaled: { default: 'Retain' } },
        },
        volumeClaimTemplates: { items: claimDefaults },
      },
      'replicas',
      'availableReplicas',
    ),
    columns: [column('Ready', (document) => readyCell(document, 'readyReplicas')), ...containerColumns],
  })
}

function daemonSets(): Resource {
  return defineKind({
    ...common,
    kind: 'DaemonSet',
    strategy: strategyOf('DaemonSet', { field: 'updateStrategy', pace: { maxSurge: 0, maxUnavailable: 1 } }),
    plural: 'daemonsets',
    shortNames: ['ds'],
    defaults: specDefaults(
      {
        revisionHistoryLimit: { default: 10 },
        updateStrategy: { default: {}, properties: { type: { default: 'RollingUpdate' } } },
      },
      'currentNumberScheduled',
      'desiredNumberScheduled',
      'numberMisscheduled',
      'numberReady',
    ),
    columns: [
      countColumn('Desired', 'desiredNumberScheduled'),
      countColumn('Current', 'currentNumberScheduled'),
      countColumn('Ready', 'numberReady'),
      countColumn('Up-to-date', 'updatedNumberScheduled'),
      countColumn('Available', 'numberAvailable'),
      column('Node Selector', nodeSelectorCell),
      ...templateColumns,
    ],
  })
}

/**
 * The kind ControllerRevision: one version of the template of a StatefulSet or DaemonSet, which `kubectl rollout
 * history` and `undo` read.
 */
function controllerRevisions(): Resource {
  return defineKind({
    group: 'apps',
    version: 'v1',
    kind: 'ControllerRevision',
    plural: 'controllerrevisions',
    namespaced: true,
    defaults: { revision: { default: 0 } },
    columns: [column('Revision', (document) => Number(textAt(document['revision'])))],
    strategy: { validate: validateRevision, validateUpdate: validateDataKept },
  })
}

function validateRevision(document: ApiDocument, old: ApiDocument | undefined): readonly FieldError[] {
  const revision = Number(textAt(document['revision']) || 0)
  return [
    ...(revision < 0 ? [invalidField('revision', revision, 'must be greater than or equal to 0')] : []),
    ...(old === undefined && document['data'] === undefined ? [requiredField('data', 'data is mandatory')] : []),
  ]
}

function validateDataKept(document: ApiDocument, old: ApiDocument): readonly FieldError[] {
  if (isDeepStrictEqual(document['data'], old['data'])) return []
  return [invalidField('data', document['data'] ?? null, 'field is immutable')]
}

/** Returns the defaults; `counts` are the numbers that a status always shows. */
function specDefaults(
  fields: Readonly<Record<string, Schema>>,
  ...counts: readonly string[]
): Readonly<Record<string, Schema>> {
  const shown = Object.fromEntries(counts.map((name) => [name, { default: 0 }]))
  return {
    spec: { default: {}, properties: { template, ...fields } },
    status: { default: {}, properties: shown },
  }
}

/** The field with the update strategy, and the defaults of a rolling update. */
interface RollingPace {
  readonly field: 'strategy' | 'updateStrategy'
  readonly pace: JsonObject
  /** A type that is given without parameters gets none, as StatefulSets do in Kubernetes. */
  readonly leavesBareType?: boolean
}

function strategyOf(kind: WorkloadKind, rolling?: RollingPace): Strategy {
  const fill = (document: ApiDocument): ApiDocument => {
    const spec = objectAt(document['spec'])
    const template = completeTemplate(spec['template'])
    return { ...document, spec: { ...spec, template, ...withPace(spec, rolling) } }
  }
  return {
    ...(kind === 'StatefulSet' ? { validateName: checkDnsLabel } : {}),
    statusLeaves: kind === 'Deployment' ? ['labels'] : [],
    prepareForCreate: fill,
    prepareForUpdate: fill,
    validate: (document, old) => validateWorkload(kind, document, old === undefined),
    validateStatus: (next, old) => validateWorkloadStatus(kind, next, old),
    validateUpdate: (next, old) => validateWorkloadUpdate(kind, next, old),
  }
}

/** Fills in the type and the parameters of a rolling update. */
function withPace(spec: JsonObject, rolling: RollingPace | undefined): JsonObject {
  if (rolling === undefined) return {}
  const { rollingUpdate, ...strategy } = objectAt(spec, rolling.field)
  const type = textAt(strategy, 'type') || 'RollingUpdate'
  const isBare = textAt(strategy, 'type') !== '' && (rollingUpdate ?? null) === null
  if (type !== 'RollingUpdate' || (isBare && rolling.leavesBareType === true)) return {}
  return { [rolling.field]: { ...strategy, type, rollingUpdate: { ...rolling.pace, ...objectAt(rollingUpdate) } } }
}

function countColumn(name: string, field: string): Resource['columns'][number] {
  return column(name, (document) => Number(textAt(document['status'], field) || 0))
}

function nodeSelectorCell({ spec }: ApiDocument): string {
  return formatLabelSelector({ matchLabels: objectAt(spec, 'template', 'spec', 'nodeSelector') })
}

function readyCell(document: ApiDocument, field: string): string {
  return `${textAt(document['status'], field) || 0}/${textAt(document['spec'], 'replicas') || 0}`
}
