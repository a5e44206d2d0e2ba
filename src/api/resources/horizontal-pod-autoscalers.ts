import type { Json, JsonObject } from '../../model/api-object.ts'
import { type ApiDocument, listAt, objectAt, textAt, valueAt } from '../document.ts'
import { defineKind } from './define-kind.ts'
import { validateAutoscaler, validateAutoscalerStatus } from './horizontal-pod-autoscaler-rules.ts'
import { toVersion1, toVersion2 } from './horizontal-pod-autoscaler-v1.ts'
import { column, type Resource } from './resource.ts'

/**
 * The kind HorizontalPodAutoscaler in its two versions; its group has the same name in every dialect. Version 2 is
 * stored, and version 1 is a view of it.
 */
export function horizontalPodAutoscalers(): readonly Resource[] {
  return [version2(), version1()]
}

const storage = { prefix: 'horizontalpodautoscalers', apiVersion: 'autoscaling/v2' }

function version2(): Resource {
  return defineKind({
    ...common,
    version: 'v2',
    defaults: { ...defaults, status: { default: {}, properties: { desiredReplicas: { default: 0 } } } },
    columns,
    strategy: {
      prepareForCreate: fill,
      prepareForUpdate: fill,
      validate: validateAutoscaler,
      validateStatus: validateAutoscalerStatus,
    },
    storage,
  })
}

function version1(): Resource {
  const complete = (document: ApiDocument) => toVersion1(fill(toVersion2(document)))
  return defineKind({
    ...common,
    version: 'v1',
    defaults: {
      ...defaults,
      status: { default: {}, properties: { currentReplicas: { default: 0 }, desiredReplicas: { default: 0 } } },
    },
    columns: columns.map((each) => ({ ...each, cell: (document, now) => each.cell(toVersion2(document), now) })),
    strategy: {
      prepareForCreate: complete,
      prepareForUpdate: complete,
      validate: (document, old) => validateAutoscaler(toVersion2(document), old && toVersion2(old)),
      validateStatus: validateAutoscalerStatus,
    },
    storage: { ...storage, conversion: { toStored: toVersion2, fromStored: toVersion1 } },
  })
}

const common = {
  group: 'autoscaling',
  kind: 'HorizontalPodAutoscaler',
  plural: 'horizontalpodautoscalers',
  shortNames: ['hpa'],
  categories: ['all'],
  namespaced: true,
  subresources: ['status'],
} as const

const defaults = { spec: { default: {}, properties: { minReplicas: { default: 1 } } } }

const columns: Resource['columns'] = [
  column('Reference', ({ spec }) => ['kind', 'name'].map((field) => textAt(spec, 'scaleTargetRef', field)).join('/')),
  column('Targets', targetsCell),
  column('MinPods', ({ spec }) => textAt(spec, 'minReplicas') || '<unset>'),
  column('MaxPods', ({ spec }) => Number(textAt(spec, 'maxReplicas') || 0)),
  column('Replicas', ({ status }) => Number(textAt(status, 'currentReplicas') || 0)),
]

const cpuAt80Percent: JsonObject = {
  type: 'Resource',
  resource: { name: 'cpu', target: { type: 'Utilization', averageUtilization: 80 } },
}

const scaleUpDefaults: JsonObject = {
  stabilizationWindowSeconds: 0,
  selectPolicy: 'Max',
  policies: [
    { type: 'Pods', value: 4, periodSeconds: 15 },
    { type: 'Percent', value: 100, periodSeconds: 15 },
  ],
}

/** The window of a scale down has its default in the controller (`--horizontal-pod-autoscaler-downscale-stabilization`). */
const scaleDownDefaults: JsonObject = {
  selectPolicy: 'Max',
  policies: [{ type: 'Percent', value: 100, periodSeconds: 15 }],
}

/** Fills in the default metric, and both directions of a behavior that gives one. */
function fill(document: ApiDocument): ApiDocument {
  const spec = objectAt(document['spec'])
  const metrics = listAt(spec, 'metrics').length > 0 ? {} : { metrics: [cpuAt80Percent] }
  return { ...document, spec: { ...spec, ...metrics, ...completeBehavior(spec) } }
}

function completeBehavior(spec: JsonObject): JsonObject {
  if (spec['behavior'] === undefined || spec['behavior'] === null) return {}
  const scaleUp = { ...scaleUpDefaults, ...objectAt(spec, 'behavior', 'scaleUp') }
  const scaleDown = { ...scaleDownDefaults, ...objectAt(spec, 'behavior', 'scaleDown') }
  return { behavior: { ...objectAt(spec, 'behavior'), scaleUp, scaleDown } }
}

const shownMetrics = 2

/** Shows each metric as its current value over its target: `cpu: 12%/80%`. */
function targetsCell({ spec, status }: ApiDocument): string {
  const current = listAt(status, 'currentMetrics')
  const texts = listAt(spec, 'metrics').map((metric, index) => metricText(metric, current[index]))
  if (texts.length === 0) return '<none>'
  const more = texts.length > shownMetrics ? ` + ${texts.length - shownMetrics} more...` : ''
  return `${texts.slice(0, shownMetrics).join(', ')}${more}`
}

/** The field of a metric of each type. */
const sources: Readonly<Record<string, string>> = {
  Resource: 'resource',
  ContainerResource: 'containerResource',
  Pods: 'pods',
  Object: 'object',
  External: 'external',
}

function metricText(metric: Json, status: Json | undefined): string {
  const type = textAt(metric, 'type')
  const source = sources[type]
  if (source === undefined) return '<unknown type>'
  const value = (field: string) => ({
    target: textAt(metric, source, 'target', field),
    current: textAt(status, source, 'current', field) || '<unknown>',
  })
  const average = value('averageValue')
  if (type === 'Resource' || type === 'ContainerResource') {
    const text = average.target === '' ? utilizationText(value('averageUtilization')) : slashed(average)
    return `${textAt(metric, source, 'name')}: ${text}`
  }
  if (type === 'Pods') return slashed(average)
  return valueAt(metric, source, 'target', 'averageValue') === undefined
    ? slashed(value('value'))
    : `${slashed(average)} (avg)`
}

interface Shown {
  readonly current: string
  readonly target: string
}

function slashed({ current, target }: Shown): string {
  return `${current}/${target}`
}

function utilizationText({ current, target }: Shown): string {
  return `${current === '<unknown>' ? current : `${current}%`}/${target === '' ? '<auto>' : `${target}%`}`
}
