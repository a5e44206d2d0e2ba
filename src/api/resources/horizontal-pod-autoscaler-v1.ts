import type { Json, JsonObject } from '../../model/api-object.ts'
import {
  type ApiDocument,
  isJsonObject,
  listAt,
  objectAt,
  textAt,
  valueAt,
  withMetadata,
  without,
} from '../document.ts'
import { builtInSchema } from '../schema/built-in-schema.ts'
import { coerce } from '../schema/coerce.ts'

/**
 * Version 1 of the autoscaler has fields for the share of CPU only. Kubernetes keeps everything else in these
 * annotations of the version 1 object, so that no version loses what another one wrote.
 */
const annotations = {
  metrics: 'autoscaling.alpha.kubernetes.io/metrics',
  currentMetrics: 'autoscaling.alpha.kubernetes.io/current-metrics',
  behavior: 'autoscaling.alpha.kubernetes.io/behavior',
  conditions: 'autoscaling.alpha.kubernetes.io/conditions',
} as const

/** Converts an autoscaler of version 2 to version 1. */
export function toVersion1(document: ApiDocument): ApiDocument {
  const { spec, status } = document
  const share = listAt(spec, 'metrics')
    .map((metric) => shareOfCpu(metric, 'target'))
    .find((each) => each !== undefined)
  const used = listAt(status, 'currentMetrics')
    .map((metric) => shareOfCpu(metric, 'current'))
    .findLast((each) => each !== undefined)
  const changed = {
    ...(spec && { spec: withShare(without(objectAt(spec), 'metrics', 'behavior'), 'target', share) }),
    ...(status && { status: withShare(without(objectAt(status), 'currentMetrics', 'conditions'), 'current', used) }),
  }
  return withAnnotations({ ...document, ...changed }, annotationsOf(document))
}

function withShare(object: JsonObject, part: Part, share: Json | undefined): JsonObject {
  return share === undefined ? object : { ...object, [`${part}CPUUtilizationPercentage`]: share }
}

/** Returns the annotations of the version 1 object: its own, and the values for which version 1 has no field. */
function annotationsOf({ spec, status, metadata }: ApiDocument): Readonly<Record<string, string>> {
  const others = listAt(spec, 'metrics').filter((metric) => shareOfCpu(metric, 'target') === undefined)
  const behavior = recase(valueAt(spec, 'behavior') ?? null, toUpper)
  const values: readonly (readonly [string, Json])[] = [
    [annotations.metrics, others.map((metric) => renameMetric(metric, 'target', 1))],
    [annotations.currentMetrics, listAt(status, 'currentMetrics').map((metric) => renameMetric(metric, 'current', 1))],
    [annotations.behavior, behavior === null ? [] : behavior],
    [annotations.conditions, [...listAt(status, 'conditions')]],
  ]
  const present = values.filter(([, value]) => !Array.isArray(value) || value.length > 0)
  return {
    ...without(metadata.annotations ?? {}, ...Object.values(annotations)),
    ...Object.fromEntries(present.map(([name, value]) => [name, JSON.stringify(value)])),
  }
}

/** Converts an autoscaler of version 1 to version 2. An annotation that does not fit version 2 counts as absent. */
export function toVersion2(document: ApiDocument): ApiDocument {
  const texts = document.metadata.annotations ?? {}
  const changed = {
    spec: specOfVersion2(objectAt(document['spec']), texts),
    ...(document['status'] && { status: statusOfVersion2(objectAt(document['status']), texts) }),
  }
  return withAnnotations({ ...document, ...changed }, without(texts, ...Object.values(annotations)))
}

function specOfVersion2(spec: JsonObject, texts: Readonly<Record<string, string>>): JsonObject {
  const share = spec['targetCPUUtilizationPercentage']
  const others = readMetrics(texts[annotations.metrics], 'target')
  const metrics = [...others, ...(share === undefined ? [] : [cpuMetric('target', { type: 'Utilization' }, share)])]
  const behavior = recase(parse(texts[annotations.behavior]), toLower)
  return {
    ...without(spec, 'targetCPUUtilizationPercentage'),
    ...fitting('spec', 'metrics', metrics),
    ...(isJsonObject(behavior) ? fitting('spec', 'behavior', behavior) : {}),
  }
}

function statusOfVersion2(status: JsonObject, texts: Readonly<Record<string, string>>): JsonObject {
  const used = status['currentCPUUtilizationPercentage']
  const current = readMetrics(texts[annotations.currentMetrics], 'current')
  const conditions = parse(texts[annotations.conditions])
  return {
    ...without(status, 'currentCPUUtilizationPercentage'),
    ...fitting(
      'status',
      'currentMetrics',
      current.length > 0 || used === undefined ? current : [cpuMetric('current', {}, used)],
    ),
    ...(Array.isArray(conditions) ? fitting('status', 'conditions', conditions) : {}),
  }
}

type Part = 'target' | 'current'

function shareOfCpu(metric: Json, part: Part): Json | undefined {
  const isCpu = textAt(metric, 'type') === 'Resource' && textAt(metric, 'resource', 'name') === 'cpu'
  return isCpu ? valueAt(metric, 'resource', part, 'averageUtilization') : undefined
}

function cpuMetric(part: Part, type: JsonObject, averageUtilization: Json): JsonObject {
  return { type: 'Resource', resource: { name: 'cpu', [part]: { ...type, averageUtilization } } }
}

/** The fields of each source, in version 1 and as a path of version 2. */
function fieldsOf(source: string, part: Part): readonly (readonly [string, readonly string[]])[] {
  const metric = [['metricName', ['metric', 'name']]] as const
  const selector = [['selector', ['metric', 'selector']]] as const
  const average = [[`${part}AverageValue`, [part, 'averageValue']]] as const
  const value = [[`${part}Value`, [part, 'value']]] as const
  const resource = [
    ['name', ['name']],
    [`${part}AverageUtilization`, [part, 'averageUtilization']],
    ...average,
  ] as const
  const table: Readonly<Record<string, readonly (readonly [string, readonly string[]])[]>> = {
    resource,
    containerResource: [['container', ['container']], ...resource],
    pods: [...metric, ...selector, ...average],
    object: [
      ['target', ['describedObject']],
      ...metric,
      ...selector,
      ...value,
      ['averageValue', [part, 'averageValue']],
    ],
    external: [...metric, ['metricSelector', ['metric', 'selector']], ...value, ...average],
  }
  return table[source] ?? []
}

/** Converts the sources of a metric to a version, `part` by `part`; the rest stays. */
function renameMetric(metric: Json, part: Part, version: 1 | 2): JsonObject {
  const rename = version === 1 ? toNames : toPaths
  const entries = Object.entries(objectAt(metric)).map(([source, fields]): [string, Json] => [
    source,
    isJsonObject(fields) ? rename(source, fields, part) : (fields ?? null),
  ])
  return Object.fromEntries(entries)
}

function toNames(source: string, fields: JsonObject, part: Part): JsonObject {
  const entries = fieldsOf(source, part).map(([name, path]) => [name, valueAt(fields, ...path)] as const)
  return Object.fromEntries(entries.flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])))
}

function toPaths(source: string, fields: JsonObject, part: Part): JsonObject {
  let renamed: JsonObject = {}
  for (const [name, path] of fieldsOf(source, part)) {
    const value = fields[name] ?? null
    if (value !== null) renamed = put(renamed, path, value)
  }
  return part === 'target' ? withTargetType(renamed) : renamed
}

function put(object: JsonObject, [field = '', ...rest]: readonly string[], value: Json): JsonObject {
  return { ...object, [field]: rest.length === 0 ? value : put(objectAt(object, field), rest, value) }
}

/** Adds the type of a target: version 1 has none. */
function withTargetType(source: JsonObject): JsonObject {
  const target = objectAt(source, 'target')
  const plain = target['value'] !== undefined && target['averageValue'] === undefined ? 'Value' : 'AverageValue'
  const type = target['averageUtilization'] === undefined ? plain : 'Utilization'
  return { ...source, target: { type, ...target } }
}

function readMetrics(text: string | undefined, part: Part): readonly JsonObject[] {
  const list = parse(text)
  return Array.isArray(list) ? list.map((metric: Json) => renameMetric(metric, part, 2)) : []
}

function parse(text: string | undefined): Json {
  if (text === undefined) return null
  try {
    return JSON.parse(text) as Json
  } catch {
    return null
  }
}

/** Changes the first letter of each field name: Kubernetes writes a behavior with the names of its Go type. */
function recase(value: Json, change: (name: string) => string): Json {
  if (Array.isArray(value)) return value.map((item: Json) => recase(item, change))
  if (!isJsonObject(value)) return value
  const entries = Object.entries(value).filter(([, each]) => each !== null && each !== undefined)
  return Object.fromEntries(entries.map(([name, each]) => [change(name), recase(each ?? null, change)]))
}

const toUpper = (name: string) => `${name.charAt(0).toUpperCase()}${name.slice(1)}`
const toLower = (name: string) => `${name.charAt(0).toLowerCase()}${name.slice(1)}`

/** Returns a field of version 2 with this value; nothing if the value is empty or has another type than declared. */
function fitting(part: 'spec' | 'status', field: string, value: Json): JsonObject {
  if (Array.isArray(value) && value.length === 0) return {}
  const schema = builtInSchema('autoscaling', 'v2', 'HorizontalPodAutoscaler').properties?.[part]
  const found = coerce(schema ?? {}, { [field]: value })
  return found.problems.length === 0 ? { [field]: valueAt(found.value, field) ?? null } : {}
}

function withAnnotations(document: ApiDocument, texts: Readonly<Record<string, string>>): ApiDocument {
  const changed = Object.keys(texts).length === 0 ? undefined : texts
  if (changed === undefined && document.metadata.annotations === undefined) return document
  const { annotations: _, ...metadata } = document.metadata
  return withMetadata({ ...document, metadata }, changed === undefined ? {} : { annotations: changed })
}
