import type { Json } from '../../model/api-object.ts'
import { parseQuantity } from '../../model/quantity.ts'
import { type ApiDocument, listAt, objectAt, textAt, valueAt } from '../document.ts'
import { all, type Check, each, exactlyOneOf, fields, nonNegative } from '../schema/checks.ts'
import {
  type FieldError,
  forbiddenField,
  invalidField,
  requiredField,
  unsupportedField,
} from '../schema/field-error.ts'
import { checkDnsLabel, checkPathSegment } from '../schema/names.ts'
import { checkResourceName } from './pod-spec/resource-rules.ts'

/** Returns the errors of a HorizontalPodAutoscaler. An update may keep an apiVersion and a zero that were stored. */
export function validateAutoscaler({ spec }: ApiDocument, old: ApiDocument | undefined): readonly FieldError[] {
  const object = objectAt(spec)
  return [
    ...checkReplicas(object, old),
    ...reference('scaleTargetRef')(object, 'spec'),
    ...(isTargetKept(object, old) ? [] : checkTargetGroup(object)),
    ...fields({ metrics: each(metric), behavior: fields({ scaleUp: scalingRules, scaleDown: scalingRules }) })(
      object,
      'spec',
    ),
    ...checkScaleToZero(object),
  ]
}

export function validateAutoscalerStatus({ status }: ApiDocument): readonly FieldError[] {
  return fields({ currentReplicas: nonNegative, desiredReplicas: nonNegative })(status ?? {}, 'status')
}

function numberAt(value: Json | undefined, ...path: readonly string[]): number {
  return Number(textAt(value, ...path) || 0)
}

function checkReplicas(spec: Json, old: ApiDocument | undefined): readonly FieldError[] {
  const [least, most] = [numberAt(spec, 'minReplicas'), numberAt(spec, 'maxReplicas')]
  const lowest = valueAt(old?.['spec'], 'minReplicas') === 0 ? 0 : 1
  const path = 'spec.maxReplicas'
  return [
    ...(least < lowest ? [invalidField('spec.minReplicas', least, `must be greater than or equal to ${lowest}`)] : []),
    ...(most < 1 ? [invalidField(path, most, 'must be greater than 0')] : []),
    ...(most < least ? [invalidField(path, most, 'must be greater than or equal to `minReplicas`')] : []),
  ]
}

/** Checks kind and name of the object that a field names; the field has an object in every case. */
function reference(field: string): Check {
  return (value, path) =>
    ['kind', 'name'].flatMap((part) => {
      const text = textAt(value, field, part)
      const at = `${path}.${field}.${part}`
      if (text === '') return [requiredField(at)]
      const why = checkPathSegment(text)
      return why === undefined ? [] : [invalidField(at, text, why)]
    })
}

function isTargetKept(spec: Json, old: ApiDocument | undefined): boolean {
  if (old === undefined) return false
  return ['apiVersion', 'kind'].every(
    (part) => textAt(spec, 'scaleTargetRef', part) === textAt(old['spec'], 'scaleTargetRef', part),
  )
}

function checkTargetGroup(spec: Json): readonly FieldError[] {
  const path = 'spec.scaleTargetRef.apiVersion'
  const version = textAt(spec, 'scaleTargetRef', 'apiVersion')
  const malformed = checkVersionForm(version, path)
  // A ReplicationController is the only kind of the core group that can be scaled.
  const needsGroup = textAt(spec, 'scaleTargetRef', 'kind') !== 'ReplicationController'
  if (malformed.length > 0 || !needsGroup || version.indexOf('/') > 0) return malformed
  return [invalidField(path, version, 'apiVersion must specify API group')]
}

function checkVersionForm(version: string, path: string): readonly FieldError[] {
  if (version.split('/').length <= 2) return []
  return [invalidField(path, version, `unexpected GroupVersion string: ${version}`)]
}

function checkScaleToZero(spec: Json): readonly FieldError[] {
  const types = listAt(spec, 'metrics').map((each) => textAt(each, 'type'))
  if (numberAt(spec, 'minReplicas') !== 0 || types.includes('Object') || types.includes('External')) return []
  const why = 'must specify at least one Object or External metric to support scaling to zero replicas'
  return [forbiddenField('spec.metrics', why)]
}

/** The source field of each metric type, and its check, in the order in which Kubernetes looks for them. */
const sources: readonly (readonly [type: string, field: string, check: Check])[] = [
  ['Object', 'object', all([reference('describedObject'), describedVersion, identifier, target, needsAnyValue])],
  ['External', 'external', all([identifier, target, needsOneValue])],
  ['Pods', 'pods', all([identifier, target, needsAverageValue])],
  ['Resource', 'resource', all([resourceName, target, needsOneAverage])],
  ['ContainerResource', 'containerResource', all([containerResource, target, needsOneAverage])],
]

const metricTypes = sources.map(([type]) => type).toSorted()

function metric(value: Json, path: string): readonly FieldError[] {
  const type = textAt(value, 'type')
  const present = sources.filter(([, field]) => valueAt(value, field) !== undefined)
  const [first] = present
  const expected = sources.find(([each]) => each === type)?.[1]
  const others = present.length > 1 ? present.filter(([, field]) => field !== expected) : []
  return [
    ...(type === '' ? [requiredField(`${path}.type`, 'must specify a metric source type')] : []),
    ...(expected === undefined ? [unsupportedField(`${path}.type`, type, metricTypes)] : []),
    ...(first === undefined ? [] : first[2](valueAt(value, first[1]) ?? {}, `${path}.${first[1]}`)),
    ...(expected !== undefined && valueAt(value, expected) === undefined
      ? [requiredField(`${path}.${expected}`, 'must populate information for the given metric source')]
      : []),
    ...others.map(([, field]) => forbiddenField(`${path}.${field}`, 'must populate the given metric source only')),
  ]
}

function describedVersion(value: Json, path: string): readonly FieldError[] {
  return checkVersionForm(textAt(value, 'describedObject', 'apiVersion'), `${path}.describedObject.apiVersion`)
}

function identifier(value: Json, path: string): readonly FieldError[] {
  const name = textAt(value, 'metric', 'name')
  if (name === '') return [requiredField(`${path}.metric.name`, 'must specify a metric name')]
  const why = checkPathSegment(name)
  return why === undefined ? [] : [invalidField(`${path}.metric.name`, name, why)]
}

function resourceName(value: Json, path: string): readonly FieldError[] {
  return textAt(value, 'name') === '' ? [requiredField(`${path}.name`, 'must specify a resource name')] : []
}

function containerResource(value: Json, path: string): readonly FieldError[] {
  const [name, container] = [textAt(value, 'name'), textAt(value, 'container')]
  const why = checkDnsLabel(container)
  const containerErrors = why === undefined ? [] : [invalidField(`${path}.container`, container, why)]
  return [
    ...(name === '' ? resourceName(value, path) : checkResourceName(name, `${path}.name`)),
    ...(container === '' ? [requiredField(`${path}.container`, 'must specify a container')] : containerErrors),
  ]
}

const targetTypes = ['Utilization', 'Value', 'AverageValue']

function target(value: Json, path: string): readonly FieldError[] {
  const type = textAt(value, 'target', 'type')
  const at = `${path}.target`
  return [
    ...(type === '' ? [requiredField(`${at}.type`, 'must specify a metric target type')] : []),
    ...(targetTypes.includes(type)
      ? []
      : [invalidField(`${at}.type`, type, 'must be either Utilization, Value, or AverageValue')]),
    ...fields({ value: positive, averageValue: positive, averageUtilization: atLeastOne })(
      objectAt(value, 'target'),
      at,
    ),
  ]
}

function positive(value: Json, path: string): readonly FieldError[] {
  return parseQuantity(textAt(value) || '0') > 0n ? [] : [invalidField(path, textAt(value), 'must be positive')]
}

function atLeastOne(value: Json, path: string): readonly FieldError[] {
  return numberAt(value) < 1 ? [invalidField(path, value, 'must be greater than 0')] : []
}

function hasTarget(value: Json, field: string): boolean {
  return valueAt(value, 'target', field) !== undefined
}

function needsAnyValue(value: Json, path: string): readonly FieldError[] {
  if (hasTarget(value, 'value') || hasTarget(value, 'averageValue')) return []
  return [requiredField(`${path}.target.averageValue`, 'must set either a target value or averageValue')]
}

function needsOneValue(value: Json, path: string): readonly FieldError[] {
  const [hasValue, hasAverage] = [hasTarget(value, 'value'), hasTarget(value, 'averageValue')]
  const needed = 'must set either a target value for metric or a per-pod target'
  const twice = 'may not set both a target value for metric and a per-pod target'
  if (!hasValue && !hasAverage) return [requiredField(`${path}.target.averageValue`, needed)]
  return hasValue && hasAverage ? [forbiddenField(`${path}.target.value`, twice)] : []
}

function needsAverageValue(value: Json, path: string): readonly FieldError[] {
  if (hasTarget(value, 'averageValue')) return []
  return [requiredField(`${path}.target.averageValue`, 'must specify a positive target averageValue')]
}

function needsOneAverage(value: Json, path: string): readonly FieldError[] {
  const [hasShare, hasAverage] = [hasTarget(value, 'averageUtilization'), hasTarget(value, 'averageValue')]
  const needed = 'must set either a target raw value or a target utilization'
  const twice = 'may not set both a target raw value and a target utilization'
  if (!hasShare && !hasAverage) return [requiredField(`${path}.target.averageUtilization`, needed)]
  return hasShare && hasAverage ? [forbiddenField(`${path}.target.averageValue`, twice)] : []
}

const maxWindowSeconds = 3600
const maxPeriodSeconds = 1800
const selectPolicy = exactlyOneOf('Disabled', 'Max', 'Min')
const policyTypes = ['Percent', 'Pods']

function scalingRules(value: Json, path: string): readonly FieldError[] {
  const checks = { stabilizationWindowSeconds: windowSeconds, selectPolicy, policies: each(policy), tolerance }
  const none = listAt(value, 'policies').length === 0
  return [
    ...fields(checks)(value, path),
    ...(none ? [requiredField(`${path}.policies`, 'must specify at least one Policy')] : []),
  ]
}

function windowSeconds(value: Json, path: string): readonly FieldError[] {
  const seconds = numberAt(value)
  if (seconds < 0) return [invalidField(path, value, 'must be greater than or equal to zero')]
  return seconds > maxWindowSeconds
    ? [invalidField(path, value, `must be less than or equal to ${maxWindowSeconds}`)]
    : []
}

function policy(value: Json, path: string): readonly FieldError[] {
  const [type, pods, seconds] = [textAt(value, 'type'), numberAt(value, 'value'), numberAt(value, 'periodSeconds')]
  const [atValue, atSeconds] = [`${path}.value`, `${path}.periodSeconds`]
  const late = `must be less than or equal to ${maxPeriodSeconds}`
  return [
    ...(policyTypes.includes(type) ? [] : [unsupportedField(`${path}.type`, type, policyTypes)]),
    ...(pods <= 0 ? [invalidField(atValue, pods, 'must be greater than zero')] : []),
    ...(seconds <= 0 ? [invalidField(atSeconds, seconds, 'must be greater than zero')] : []),
    ...(seconds > maxPeriodSeconds ? [invalidField(atSeconds, seconds, late)] : []),
  ]
}

function tolerance(value: Json, path: string): readonly FieldError[] {
  const why = 'must be greater than or equal to 0'
  return parseQuantity(textAt(value) || '0') < 0n ? [invalidField(path, textAt(value), why)] : []
}
