import { isDeepStrictEqual } from 'node:util'
import type { Json, JsonObject } from '../../model/api-object.ts'
import { matchesLabels, readLabelSelector } from '../../model/selector.ts'
import { type ApiDocument, listAt, objectAt, textAt, valueAt, without } from '../document.ts'
import { type Check, fields, nonNegative, oneOf, text } from '../schema/checks.ts'
import {
  type FieldError,
  forbiddenField,
  invalidField,
  requiredField,
  unsupportedField,
} from '../schema/field-error.ts'
import { checkDnsLabel } from '../schema/names.ts'
import { validateLabelSelector } from './label-selector.ts'
import { claimSpec } from './pod-spec/claim-rules.ts'
import { validatePodTemplate } from './pod-spec/pod-template-rules.ts'

/** The kinds that create Pods from a template. */
export type WorkloadKind = 'Deployment' | 'ReplicaSet' | 'StatefulSet' | 'DaemonSet'

const rollingTypes = ['Recreate', 'RollingUpdate']
const setTypes = ['OnDelete', 'RollingUpdate']
const retention = oneOf('Retain', 'Delete')

const common = { replicas: nonNegative, minReadySeconds: nonNegative }
const history = { revisionHistoryLimit: nonNegative }

const specRules: Readonly<Record<WorkloadKind, Check>> = {
  Deployment: fields({ ...common, ...history, progressDeadlineSeconds: nonNegative, strategy: deploymentStrategy }),
  ReplicaSet: fields(common),
  StatefulSet: fields({
    ...common,
    podManagementPolicy: eitherOf('OrderedReady', 'Parallel'),
    updateStrategy: statefulSetStrategy,
    persistentVolumeClaimRetentionPolicy: fields({ whenDeleted: retention, whenScaled: retention }),
    ordinals: fields({ start: nonNegative }),
  }),
  DaemonSet: fields({ ...common, ...history, updateStrategy: daemonSetStrategy }),
}

/** Checks the values of the immutable fields of a StatefulSet. */
const setIdentityRules = fields({
  serviceName: text(checkDnsLabel),
  volumeClaimTemplates: (value, path) =>
    listAt(value).flatMap((claim, index) => claimSpec(objectAt(claim, 'spec'), `${path}[${index}].spec`)),
})

/** Returns the errors of a workload: in its own fields, its selector and its Pod template. */
export function validateWorkload(kind: WorkloadKind, { spec }: ApiDocument, isNew: boolean): readonly FieldError[] {
  const object = objectAt(spec)
  return [
    ...specRules[kind](object, 'spec'),
    ...(kind === 'StatefulSet' && isNew ? setIdentityRules(object, 'spec') : []),
    ...(kind === 'Deployment' ? checkDeadline(object) : []),
    ...validateSelector(object, kind),
    ...validateTemplate(kind, object),
  ]
}

function eitherOf(first: string, second: string): Check {
  return (value, path) =>
    value === first || value === second ? [] : [invalidField(path, value, `must be '${first}' or '${second}'`)]
}

function checkDeadline(spec: JsonObject): readonly FieldError[] {
  const [deadline, ready] = [spec['progressDeadlineSeconds'], Number(textAt(spec, 'minReadySeconds') || 0)]
  if (typeof deadline !== 'number' || deadline > ready) return []
  return [invalidField('spec.progressDeadlineSeconds', deadline, 'must be greater than minReadySeconds')]
}

const percentRule =
  "a valid percent string must be a numeric string followed by an ending '%' (e.g. '1%',  or '93%', regex used for validation is '[0-9]+%')"

/** Checks a number of Pods, or a percentage up to `mostPercent`. */
export function podCount(mostPercent: number): Check {
  return (value, path) => {
    if (typeof value !== 'string') return nonNegative(value, path)
    if (!/^[0-9]+%$/.test(value)) return [invalidField(path, value, percentRule)]
    return Number.parseInt(value, 10) > mostPercent
      ? [invalidField(path, value, `must not be greater than ${mostPercent}%`)]
      : []
  }
}

const upToAll = podCount(100)
const anyPart = podCount(Number.MAX_SAFE_INTEGER)

/** Checks for zero; a text without a number counts as zero. */
function isZero(value: Json | undefined): boolean {
  const text = textAt(value)
  return !/^(-?\d+|\d+%)$/.test(text) || Number.parseInt(text, 10) === 0
}

function deploymentStrategy(value: Json, path: string): readonly FieldError[] {
  const [type, pace] = [textAt(value, 'type'), objectAt(value)['rollingUpdate']]
  if (type === 'Recreate')
    return pace === undefined || pace === null
      ? []
      : [forbiddenField(`${path}.rollingUpdate`, "may not be specified when strategy `type` is 'Recreate'")]
  if (type !== 'RollingUpdate') return [unsupportedField(path, value, rollingTypes)]
  const { maxUnavailable, maxSurge } = objectAt(pace)
  return [
    ...fields({ rollingUpdate: fields({ maxUnavailable: upToAll, maxSurge: anyPart }) })(value, path),
    ...(isZero(maxUnavailable) && isZero(maxSurge)
      ? [invalidField(`${path}.rollingUpdate.maxUnavailable`, maxUnavailable, 'may not be 0 when `maxSurge` is 0')]
      : []),
  ]
}

function daemonSetStrategy(value: Json, path: string): readonly FieldError[] {
  const type = textAt(value, 'type')
  if (type === 'OnDelete') return []
  if (type !== 'RollingUpdate') return [unsupportedField(path, value, [...setTypes].toReversed())]
  const { maxUnavailable, maxSurge } = objectAt(value, 'rollingUpdate')
  const at = `${path}.rollingUpdate`
  return [
    ...fields({ rollingUpdate: fields({ maxUnavailable: upToAll, maxSurge: upToAll }) })(value, path),
    ...(isZero(maxUnavailable) || isZero(maxSurge)
      ? []
      : [invalidField(`${at}.maxSurge`, maxSurge, 'may not be set when maxUnavailable is non-zero')]),
    ...(isZero(maxUnavailable) && isZero(maxSurge)
      ? [requiredField(`${at}.maxUnavailable`, 'cannot be 0 when maxSurge is 0')]
      : []),
  ]
}

function statefulSetStrategy(value: Json, path: string): readonly FieldError[] {
  const [type, pace] = [textAt(value, 'type'), objectAt(value)['rollingUpdate']]
  if (type === 'OnDelete')
    return pace === undefined || pace === null
      ? []
      : [invalidField(`${path}.rollingUpdate`, pace, "only allowed for updateStrategy 'RollingUpdate'")]
  if (type !== 'RollingUpdate') return [invalidField(path, value, "must be 'RollingUpdate' or 'OnDelete'")]
  const unavailable = objectAt(pace)['maxUnavailable']
  const isNone = unavailable !== undefined && isZero(unavailable)
  return [
    ...fields({ rollingUpdate: fields({ partition: nonNegative, maxUnavailable: upToAll }) })(value, path),
    ...(isNone ? [invalidField(`${path}.rollingUpdate.maxUnavailable`, unavailable, 'cannot be 0')] : []),
  ]
}

function validateSelector(spec: JsonObject, kind: WorkloadKind): readonly FieldError[] {
  const selector = spec['selector']
  const labels = objectAt(spec, 'template', 'metadata', 'labels')
  const shown = valueAt(spec, 'template', 'metadata', 'labels')
  const mismatch = invalidField('spec.template.metadata.labels', shown, '`selector` does not match template `labels`')
  if (selector === undefined || selector === null) return [requiredField('spec.selector'), mismatch]
  const isEmpty =
    Object.keys(objectAt(selector, 'matchLabels')).length === 0 && listAt(selector, 'matchExpressions').length === 0
  if (isEmpty) return [invalidField('spec.selector', selector, `empty selector is invalid for ${kind.toLowerCase()}`)]
  const errors = validateLabelSelector(selector, 'spec.selector')
  if (errors.length > 0) return [...errors, ...unusableSelector(kind, selector)]
  const requirements = readLabelSelector(selector)
  const texts = Object.fromEntries(Object.entries(labels).map(([key, value]) => [key, textAt(value)]))
  if (requirements !== undefined && matchesLabels(requirements, texts)) return []
  return [mismatch]
}

/** Returns the error of the selector as a whole, which Kubernetes reports too, in words of each kind. */
function unusableSelector(kind: WorkloadKind, selector: Json): readonly FieldError[] {
  if (kind === 'DaemonSet') return []
  return [invalidField('spec.selector', selector, kind === 'StatefulSet' ? '' : 'invalid label selector')]
}

function validateTemplate(kind: WorkloadKind, spec: JsonObject): readonly FieldError[] {
  const template = objectAt(spec, 'template')
  const podSpec = kind === 'StatefulSet' ? withSetIdentity(spec) : objectAt(template, 'spec')
  const at = 'spec.template'
  return [
    ...validatePodTemplate({ ...template, spec: podSpec }, at),
    ...validateForTemplate(kind, podSpec, `${at}.spec`),
  ]
}

/** Returns the Pod spec without host name and subdomain, which the StatefulSet sets, and with the volumes of its claims. */
function withSetIdentity(spec: JsonObject): JsonObject {
  const podSpec = without(objectAt(spec, 'template', 'spec'), 'hostname', 'subdomain')
  const claims = [...new Set(listAt(spec, 'volumeClaimTemplates').map((claim) => textAt(claim, 'metadata', 'name')))]
  if (claims.length === 0) return podSpec
  const claimed = claims.map((name) => ({ name, persistentVolumeClaim: { claimName: name } }))
  const others = listAt(podSpec, 'volumes').filter((volume) => !claims.includes(textAt(volume, 'name')))
  return { ...podSpec, volumes: [...claimed, ...others] }
}

/** Checks what a template may not say where its Pods are to run for good. */
export function validateForTemplate(
  kind: WorkloadKind | 'ReplicationController',
  podSpec: JsonObject,
  path: string,
): readonly FieldError[] {
  const policy = textAt(podSpec, 'restartPolicy')
  const maker = kind === 'Deployment' ? 'ReplicaSet' : kind
  const hasDeadline = (podSpec['activeDeadlineSeconds'] ?? null) !== null
  return [
    ...(policy === '' || policy === 'Always' ? [] : [unsupportedField(`${path}.restartPolicy`, policy, ['Always'])]),
    ...(hasDeadline
      ? [forbiddenField(`${path}.activeDeadlineSeconds`, `activeDeadlineSeconds in ${maker} is not Supported`)]
      : []),
  ]
}

const setChangeable = [
  'replicas',
  'ordinals',
  'template',
  'updateStrategy',
  'revisionHistoryLimit',
  'persistentVolumeClaimRetentionPolicy',
  'minReadySeconds',
]

/** Checks an update: the selector of a workload must not change, and in a StatefulSet almost nothing may. */
export function validateWorkloadUpdate(kind: WorkloadKind, next: ApiDocument, old: ApiDocument): readonly FieldError[] {
  if (kind === 'StatefulSet') return checkSetKept(objectAt(next['spec']), objectAt(old['spec']))
  const selector = valueAt(next['spec'], 'selector')
  if (isDeepStrictEqual(selector, valueAt(old['spec'], 'selector'))) return []
  return [invalidField('spec.selector', selector, 'field is immutable')]
}

function checkSetKept(spec: JsonObject, oldSpec: JsonObject): readonly FieldError[] {
  if (isDeepStrictEqual(without(spec, ...setChangeable), without(oldSpec, ...setChangeable))) return []
  const quoted = setChangeable.map((field) => `'${field}'`)
  const list = `${quoted.slice(0, -1).join(', ')} and ${quoted.at(-1)}`
  return [forbiddenField('spec', `updates to statefulset spec for fields other than ${list} are forbidden`)]
}
