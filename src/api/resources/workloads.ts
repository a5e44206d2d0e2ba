import { isDeepStrictEqual } from 'node:util'
import type { JsonObject } from '../../model/api-object.ts'
import { type ApiDocument, listAt, objectAt, textAt, valueAt } from '../document.ts'
import { type FieldError, invalidField, requiredField } from '../schema/field-error.ts'
import type { Schema } from '../schema/schema.ts'
import { defineKind } from './define-kind.ts'
import { formatLabelSelector, validateLabelSelector } from './label-selector.ts'
import { validatePodSpec } from './pod-validation.ts'
import { podSpecDefaults } from './pods.ts'
import { column, type Resource, type Strategy } from './resource.ts'

const template: Schema = { properties: { spec: podSpecDefaults } }
const selectedPods: Strategy = { validate: validateWorkload, validateUpdate: validateSelectorKept }

/** Deployment, ReplicaSet, StatefulSet and DaemonSet, what runs Pods; the group has the same name in every dialect. */
export function workloads(): readonly Resource[] {
  return [deployments(), replicaSets(), statefulSets(), daemonSets(), controllerRevisions()]
}

const containerColumns = [containerColumn('Containers', 'name'), containerColumn('Images', 'image')]
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
  strategy: selectedPods,
} as const

/** DaemonSets alone have no size to set. */
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
    strategy: rollingBy('strategy', { maxSurge: '25%', maxUnavailable: '25%' }),
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
    plural: 'replicasets',
    shortNames: ['rs'],
    defaults: specDefaults({ replicas: { default: 1 } }),
    columns: [
      column('Desired', (document) => Number(textAt(document['spec'], 'replicas'))),
      countColumn('Current', 'replicas'),
      countColumn('Ready', 'readyReplicas'),
      ...templateColumns,
    ],
  })
}

function statefulSets(): Resource {
  return defineKind({
    ...common,
    ...scalable,
    kind: 'StatefulSet',
    strategy: rollingBy('updateStrategy', { partition: 0 }),
    plural: 'statefulsets',
    shortNames: ['sts'],
    defaults: specDefaults({
      replicas: { default: 1 },
      revisionHistoryLimit: { default: 10 },
      podManagementPolicy: { default: 'OrderedReady' },
      updateStrategy: { default: {}, properties: { type: { default: 'RollingUpdate' } } },
    }),
    columns: [column('Ready', (document) => readyCell(document, 'readyReplicas')), ...containerColumns],
  })
}

function daemonSets(): Resource {
  return defineKind({
    ...common,
    kind: 'DaemonSet',
    strategy: rollingBy('updateStrategy', { maxSurge: 0, maxUnavailable: 1 }),
    plural: 'daemonsets',
    shortNames: ['ds'],
    defaults: specDefaults({
      revisionHistoryLimit: { default: 10 },
      updateStrategy: { default: {}, properties: { type: { default: 'RollingUpdate' } } },
    }),
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

/** One version of a StatefulSet's or DaemonSet's template; `kubectl rollout history` and `undo` read them. */
function controllerRevisions(): Resource {
  return defineKind({
    group: 'apps',
    version: 'v1',
    kind: 'ControllerRevision',
    plural: 'controllerrevisions',
    namespaced: true,
    columns: [column('Revision', (document) => Number(textAt(document['revision'])))],
    strategy: { validateUpdate: validateDataKept },
  })
}

function validateDataKept(document: ApiDocument, old: ApiDocument): readonly FieldError[] {
  if (isDeepStrictEqual(document['data'], old['data'])) return []
  return [invalidField('data', document['data'] ?? null, 'field is immutable')]
}

function specDefaults(fields: Readonly<Record<string, Schema>>): Readonly<Record<string, Schema>> {
  return { spec: { default: {}, properties: { template, ...fields } }, status: { default: {} } }
}

/** How fast a rolling update goes is filled in where one is wanted, also beside a type that was given alone. */
function rollingBy(field: 'strategy' | 'updateStrategy', pace: JsonObject): Strategy {
  const fill = (document: ApiDocument): ApiDocument => {
    const spec = objectAt(document['spec'])
    const strategy = objectAt(spec, field)
    if (strategy['type'] !== 'RollingUpdate') return document
    const rollingUpdate = { ...pace, ...objectAt(strategy, 'rollingUpdate') }
    return { ...document, spec: { ...spec, [field]: { ...strategy, rollingUpdate } } }
  }
  return { ...selectedPods, statusTakesAnnotations: true, prepareForCreate: fill, prepareForUpdate: fill }
}

function countColumn(name: string, field: string): Resource['columns'][number] {
  return column(name, (document) => Number(textAt(document['status'], field) || 0))
}

/** Of every container of the template, in order. */
function containerColumn(name: string, field: string): Resource['columns'][number] {
  const cell = ({ spec }: ApiDocument) =>
    listAt(spec, 'template', 'spec', 'containers')
      .map((container) => textAt(container, field))
      .join(',')
  return column(name, cell, { wide: true })
}

function nodeSelectorCell({ spec }: ApiDocument): string {
  return formatLabelSelector({ matchLabels: objectAt(spec, 'template', 'spec', 'nodeSelector') })
}

function readyCell(document: ApiDocument, field: string): string {
  return `${textAt(document['status'], field) || 0}/${textAt(document['spec'], 'replicas') || 0}`
}

function validateWorkload({ spec }: ApiDocument): readonly FieldError[] {
  const replicas = valueAt(spec, 'replicas')
  const why = 'must be greater than or equal to 0'
  return [
    ...(typeof replicas === 'number' && replicas < 0 ? [invalidField('spec.replicas', replicas, why)] : []),
    ...validateSelector(objectAt(spec)),
    ...validatePodSpec(objectAt(spec, 'template', 'spec'), 'spec.template.spec'),
  ]
}

function validateSelector(spec: ReturnType<typeof objectAt>): readonly FieldError[] {
  const selector = spec['selector']
  if (selector === undefined) return [requiredField('spec.selector')]
  const wanted = Object.entries(objectAt(selector, 'matchLabels'))
  if (wanted.length === 0 && listAt(selector, 'matchExpressions').length === 0) {
    return [invalidField('spec.selector', selector, 'must not be empty: it would select every Pod of the namespace')]
  }
  const labels = objectAt(spec, 'template', 'metadata', 'labels')
  const isMatched = wanted.every(([key, value]) => labels[key] === value)
  return [
    ...validateLabelSelector(selector, 'spec.selector'),
    ...(isMatched
      ? []
      : [invalidField('spec.template.metadata.labels', labels, '`selector` does not match template `labels`')]),
  ]
}

function validateSelectorKept(document: ApiDocument, old: ApiDocument): readonly FieldError[] {
  const selector = valueAt(document['spec'], 'selector')
  if (isDeepStrictEqual(selector, valueAt(old['spec'], 'selector'))) return []
  return [invalidField('spec.selector', selector, 'field is immutable')]
}
