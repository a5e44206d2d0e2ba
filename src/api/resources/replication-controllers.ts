import type { JsonObject } from '../../model/api-object.ts'
import { type ApiDocument, objectAt, textAt, withMetadata } from '../document.ts'
import { fields, nonNegative } from '../schema/checks.ts'
import { type FieldError, invalidField, requiredField } from '../schema/field-error.ts'
import { defineKind } from './define-kind.ts'
import { formatLabelSelector } from './label-selector.ts'
import { completeTemplate, podSpecDefaults } from './pod-spec/pod-defaults.ts'
import { validatePodTemplate } from './pod-spec/pod-template-rules.ts'
import { column, type Resource } from './resource.ts'
import { containerColumnsAt } from './template-columns.ts'
import { validateForTemplate } from './workload-rules.ts'
import { validateWorkloadStatus } from './workload-status-rules.ts'

/** The kind ReplicationController, which is older than ReplicaSets: its selector is a map of labels. */
export function replicationControllers(): Resource {
  return defineKind({
    group: '',
    version: 'v1',
    kind: 'ReplicationController',
    plural: 'replicationcontrollers',
    shortNames: ['rc'],
    categories: ['all'],
    namespaced: true,
    subresources: ['status', 'scale'],
    countsGeneration: true,
    selectableFields: { 'status.replicas': ({ status }) => textAt(status, 'replicas') || '0' },
    scale: {
      specReplicas: ['spec', 'replicas'],
      statusReplicas: ['status', 'replicas'],
      labelSelector: ['spec', 'selector'],
      isLabelMap: true,
    },
    defaults: {
      spec: {
        default: {},
        properties: { replicas: { default: 1 }, template: { properties: { spec: podSpecDefaults } } },
      },
      status: { default: {}, properties: { replicas: { default: 0 } } },
    },
    columns: [
      countColumn('Desired', ({ spec }) => textAt(spec, 'replicas')),
      countColumn('Current', ({ status }) => textAt(status, 'replicas')),
      countColumn('Ready', ({ status }) => textAt(status, 'readyReplicas')),
      ...containerColumnsAt('template'),
      column('Selector', ({ spec }) => formatLabelSelector({ matchLabels: objectAt(spec, 'selector') }), {
        wide: true,
      }),
    ],
    strategy: {
      orphansByDefault: true,
      prepareForCreate: complete,
      prepareForUpdate: complete,
      validate: ({ spec }) => validateSpec(objectAt(spec)),
      validateStatus: (next, old) => validateWorkloadStatus('ReplicaSet', next, old),
    },
  })
}

function countColumn(name: string, count: (document: ApiDocument) => string): Resource['columns'][number] {
  return { ...column(name, (document) => Number(count(document) || 0)), type: 'integer' }
}

/** Fills in the selector and the labels from those of the template. */
function complete(controller: ApiDocument): ApiDocument {
  const spec = objectAt(controller['spec'])
  if ((spec['template'] ?? null) === null) return controller
  const template = completeTemplate(spec['template'])
  const labels = objectAt(template, 'metadata', 'labels') as Readonly<Record<string, string>>
  const isSilent = (own: object | undefined) => Object.keys(own ?? {}).length === 0 && Object.keys(labels).length > 0
  const labelled = isSilent(controller.metadata.labels) ? withMetadata(controller, { labels }) : controller
  const selector = isSilent(objectAt(spec, 'selector')) ? { selector: labels } : {}
  return { ...labelled, spec: { ...spec, ...selector, template } }
}

const counts = fields({ replicas: nonNegative, minReadySeconds: nonNegative })

function validateSpec(spec: JsonObject): readonly FieldError[] {
  const selector = objectAt(spec, 'selector')
  const isEmpty = Object.keys(selector).length === 0
  return [
    ...counts(spec, 'spec'),
    ...(isEmpty ? [requiredField('spec.selector')] : []),
    ...((spec['template'] ?? null) === null ? [requiredField('spec.template')] : validateTemplate(spec, selector)),
  ]
}

function validateTemplate(spec: JsonObject, selector: JsonObject): readonly FieldError[] {
  const template = objectAt(spec, 'template')
  const labels = objectAt(template, 'metadata', 'labels')
  const path = 'spec.template'
  const isSelected = Object.entries(selector).every(([key, value]) => labels[key] === value)
  const shown = objectAt(template, 'metadata')['labels']
  return [
    ...(isSelected
      ? []
      : [invalidField(`${path}.metadata.labels`, shown, '`selector` does not match template `labels`')]),
    ...validatePodTemplate(template, path),
    ...validateForTemplate('ReplicationController', objectAt(template, 'spec'), `${path}.spec`),
  ]
}
