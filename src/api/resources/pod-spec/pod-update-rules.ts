import { isDeepStrictEqual } from 'node:util'
import type { Json, JsonObject } from '../../../model/api-object.ts'
import { type ApiDocument, isJsonObject, listAt, objectAt, textAt, without } from '../../document.ts'
import { type FieldError, forbiddenField, invalidField } from '../../schema/field-error.ts'

const checkedApart = ['activeDeadlineSeconds', 'tolerations', 'schedulingGates', 'terminationGracePeriodSeconds']
const changeable = [
  '`spec.containers[*].image`',
  '`spec.initContainers[*].image`',
  '`spec.activeDeadlineSeconds`',
  '`spec.tolerations` (only additions to existing tolerations)',
  '`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)',
]

/** Checks that an update of a Pod changes only the few mutable fields. */
export function validatePodUpdate(pod: ApiDocument, old: ApiDocument): readonly FieldError[] {
  const [spec, oldSpec] = [objectAt(pod['spec']), objectAt(old['spec'])]
  const resized = ['containers', 'initContainers'].filter(
    (field) => listAt(spec, field).length !== listAt(oldSpec, field).length,
  )
  if (resized.length > 0)
    return resized.map((field) => forbiddenField(`spec.${field}`, 'pod updates may not add or remove containers'))
  return [
    ...checkDeadline(spec['activeDeadlineSeconds'], oldSpec['activeDeadlineSeconds']),
    ...checkTolerations(listAt(spec, 'tolerations'), listAt(oldSpec, 'tolerations')),
    ...checkGates(spec, oldSpec),
    ...checkFixedPart(spec, oldSpec),
  ]
}

/** Checks a deadline: it may be set, and it may be shortened. */
function checkDeadline(next: Json | undefined, old: Json | undefined): readonly FieldError[] {
  const field = 'spec.activeDeadlineSeconds'
  if (typeof old !== 'number' || next === old) return []
  if (typeof next !== 'number')
    return [invalidField(field, next ?? null, 'must not update from a positive integer to nil value')]
  return next > old ? [invalidField(field, next, 'must be less than or equal to previous value')] : []
}

function checkTolerations(next: readonly Json[], old: readonly Json[]): readonly FieldError[] {
  const timeless = (toleration: Json) => without(objectAt(toleration), 'tolerationSeconds')
  const kept = next.map(timeless)
  const isEachKept = old.every((toleration) => kept.some((each) => isDeepStrictEqual(each, timeless(toleration))))
  if (isEachKept) return []
  return [forbiddenField('spec.tolerations', 'existing toleration can not be modified except its tolerationSeconds')]
}

function checkGates(spec: JsonObject, oldSpec: JsonObject): readonly FieldError[] {
  const old = new Set(listAt(oldSpec, 'schedulingGates').map((gate) => textAt(gate, 'name')))
  return listAt(spec, 'schedulingGates').flatMap((gate, index) => {
    const name = textAt(gate, 'name')
    if (old.has(name)) return []
    const why = `only deletion is allowed, but found new scheduling gate '${name}'`
    return [forbiddenField(`spec.schedulingGates[${index}].name`, why)]
  })
}

function checkFixedPart(spec: JsonObject, oldSpec: JsonObject): readonly FieldError[] {
  const isGated = listAt(oldSpec, 'schedulingGates').length > 0
  const isBound = textAt(oldSpec, 'nodeName') !== ''
  const gated = isGated ? ['nodeSelector', 'affinity'] : []
  const left = [...checkedApart, ...gated, ...(isBound ? [] : ['nodeName'])]
  const isSame = isDeepStrictEqual(fixedPart(spec, left), fixedPart(oldSpec, left)) && isSameGrace(spec, oldSpec)
  return [
    ...(isGated ? checkGatedPlacement(spec, oldSpec) : []),
    ...(isSame ? [] : [forbiddenField('spec', `pod updates may not change fields other than ${changeable.join(',')}`)]),
  ]
}

/** Checks that the grace stays; a negative grace, which an old version accepted, may become 1. */
function isSameGrace(spec: JsonObject, oldSpec: JsonObject): boolean {
  const [seconds, old] = [spec['terminationGracePeriodSeconds'], oldSpec['terminationGracePeriodSeconds']]
  return seconds === old || (seconds === 1 && typeof old === 'number' && old < 0)
}

function fixedPart(spec: JsonObject, left: readonly string[]): JsonObject {
  const rest = without(spec, ...left)
  const lists = ['containers', 'initContainers'].filter((field) => Object.hasOwn(rest, field))
  return { ...rest, ...Object.fromEntries(lists.map((field) => [field, listAt(rest, field).map(imageless)])) }
}

function imageless(container: Json): Json {
  return isJsonObject(container) ? without(container, 'image') : container
}

/** Checks that the placement of a gated Pod is narrowed and not widened (KEP-3838). */
function checkGatedPlacement(spec: JsonObject, oldSpec: JsonObject): readonly FieldError[] {
  const selector = objectAt(spec, 'nodeSelector')
  const isKept = Object.entries(objectAt(oldSpec, 'nodeSelector')).every(([key, value]) => selector[key] === value)
  const [affinity, oldAffinity] = [objectAt(spec, 'affinity'), objectAt(oldSpec, 'affinity')]
  const others = (value: JsonObject) => without(value, 'nodeAffinity')
  return [
    ...(isKept
      ? []
      : [
          invalidField(
            'spec.nodeSelector',
            selector,
            'only additions to spec.nodeSelector are allowed (no mutations or deletions)',
          ),
        ]),
    ...(isDeepStrictEqual(others(affinity), others(oldAffinity))
      ? []
      : [forbiddenField('spec.affinity', 'only nodeAffinity of a gated pod may be narrowed')]),
    ...checkNodeAffinityNarrowed(objectAt(affinity, 'nodeAffinity'), objectAt(oldAffinity, 'nodeAffinity')),
  ]
}

const requiredTerms = 'requiredDuringSchedulingIgnoredDuringExecution'

function checkNodeAffinityNarrowed(affinity: JsonObject, oldAffinity: JsonObject): readonly FieldError[] {
  const old = listAt(oldAffinity, requiredTerms, 'nodeSelectorTerms')
  if (old.length === 0) return []
  const terms = listAt(affinity, requiredTerms, 'nodeSelectorTerms')
  const isNarrowed =
    terms.length === old.length && terms.every((term, index) => isAddition(objectAt(term), objectAt(old[index])))
  if (isNarrowed) return []
  const field = `spec.affinity.nodeAffinity.${requiredTerms}.nodeSelectorTerms`
  return [invalidField(field, [...terms], 'no additions/deletions to non-empty NodeSelectorTerms list are allowed')]
}

/** Checks that a term only gains requirements at its end; an empty term selects nothing and must not change. */
function isAddition(term: JsonObject, old: JsonObject): boolean {
  const lists = ['matchExpressions', 'matchFields'] as const
  if (lists.every((field) => listAt(old, field).length === 0)) return isDeepStrictEqual(term, old)
  return lists.every((field) =>
    isDeepStrictEqual(listAt(term, field).slice(0, listAt(old, field).length), listAt(old, field)),
  )
}
