import type { Json } from '../../../model/api-object.ts'
import { isLabelValue, isQualifiedName } from '../../../model/selector.ts'
import { listAt, objectAt, textAt, valueAt } from '../../document.ts'
import { between, type Check, each, fields, oneOf, strictText, text } from '../../schema/checks.ts'
import {
  duplicateField,
  type FieldError,
  forbiddenField,
  invalidField,
  requiredField,
  unsupportedField,
} from '../../schema/field-error.ts'
import { labelValueRule, qualifiedNameRule } from '../../schema/metadata-rules.ts'
import { checkDnsLabel, checkDnsSubdomain } from '../../schema/names.ts'
import { validateLabelSelector } from '../label-selector.ts'

const labelName = text((name) => (isQualifiedName(name) ? undefined : qualifiedNameRule))
const labelSelector: Check = (value, path) => validateLabelSelector(value, path)
const weight = between(1, 100, 'must be in the range 1-100')
export const taintEffects = ['NoSchedule', 'PreferNoSchedule', 'NoExecute']

export const tolerations: Check = each(fields({ key: labelName, effect: oneOf(...taintEffects) }), checkToleration)

function checkToleration(value: Json, path: string): readonly FieldError[] {
  const [key, operator, effect] = [textAt(value, 'key'), textAt(value, 'operator'), textAt(value, 'effect')]
  const seconds = objectAt(value)['tolerationSeconds']
  const isTimed = seconds !== undefined && seconds !== null
  const matchesAll = 'operator must be Exists when `key` is empty, which means "match all values and all keys"'
  const timed = "effect must be 'NoExecute' when `tolerationSeconds` is set"
  return [
    ...(key === '' && operator !== 'Exists' ? [invalidField(`${path}.operator`, operator, matchesAll)] : []),
    ...(isTimed && effect !== 'NoExecute' ? [invalidField(`${path}.effect`, effect, timed)] : []),
    ...checkTolerationValue(operator, textAt(value, 'value'), `${path}.operator`),
  ]
}

function checkTolerationValue(operator: string, value: string, path: string): readonly FieldError[] {
  if (operator === '' || operator === 'Equal')
    return isLabelValue(value) ? [] : [invalidField(path, value, labelValueRule)]
  if (operator !== 'Exists') return [unsupportedField(path, operator, ['Equal', 'Exists'])]
  return value === '' ? [] : [invalidField(path, value, "value must be empty when `operator` is 'Exists'")]
}

/** Checks a requirement on node labels; preferred terms may name values that no label can have. */
function nodeRequirement(checksValues: boolean): Check {
  return (value, path) => {
    const values = listAt(value, 'values').map((item) => textAt(item))
    const key = textAt(value, 'key')
    return [
      ...checkNodeOperator(textAt(value, 'operator'), values.length, path),
      ...(isQualifiedName(key) ? [] : [invalidField(`${path}.key`, key, qualifiedNameRule)]),
      ...(checksValues ? values : []).flatMap((item, index) =>
        isLabelValue(item) ? [] : [invalidField(`${path}.values[${index}]`, item, labelValueRule)],
      ),
    ]
  }
}

function checkNodeOperator(operator: string, count: number, path: string): readonly FieldError[] {
  const at = `${path}.values`
  switch (operator) {
    case 'In':
    case 'NotIn':
      return count > 0 ? [] : [requiredField(at, "must be specified when `operator` is 'In' or 'NotIn'")]
    case 'Exists':
    case 'DoesNotExist':
      return count === 0
        ? []
        : [forbiddenField(at, "may not be specified when `operator` is 'Exists' or 'DoesNotExist'")]
    case 'Gt':
    case 'Lt':
      return count === 1 ? [] : [requiredField(at, "must be specified single value when `operator` is 'Lt' or 'Gt'")]
    default:
      return [invalidField(`${path}.operator`, operator, 'not a valid selector operator')]
  }
}

function fieldRequirement(value: Json, path: string): readonly FieldError[] {
  const [key, operator] = [textAt(value, 'key'), textAt(value, 'operator')]
  const values = listAt(value, 'values')
  const isKnown = operator === 'In' || operator === 'NotIn'
  const single = "must be only one value when `operator` is 'In' or 'NotIn' for node field selector"
  return [
    ...(isKnown ? [] : [invalidField(`${path}.operator`, operator, 'not a valid selector operator')]),
    ...(isKnown && values.length !== 1 ? [requiredField(`${path}.values`, single)] : []),
    ...(key === 'metadata.name' ? [] : [invalidField(`${path}.key`, key, 'not a valid field selector key')]),
    ...(key === 'metadata.name' ? values : []).flatMap((value, index) =>
      strictText(checkDnsSubdomain)(textAt(value), `${path}.values[${index}]`),
    ),
  ]
}

function nodeTerm(checksValues: boolean): Check {
  return fields({ matchExpressions: each(nodeRequirement(checksValues)), matchFields: each(fieldRequirement) })
}

/** Checks a selector of nodes: that of a Pod, or of the nodes that can reach a volume. */
export const nodeSelector: Check[] = [
  (value, path) =>
    listAt(value, 'nodeSelectorTerms').length === 0
      ? [requiredField(`${path}.nodeSelectorTerms`, 'must have at least one node selector term')]
      : [],
  fields({ nodeSelectorTerms: each(nodeTerm(true)) }),
]

const nodeAffinity = fields({
  requiredDuringSchedulingIgnoredDuringExecution: nodeSelector,
  preferredDuringSchedulingIgnoredDuringExecution: each(withWeight, fields({ preference: nodeTerm(false) })),
})

/** Checks a weight; an absent one counts as 0 and is invalid. */
function withWeight(value: Json, path: string): readonly FieldError[] {
  return weight(valueAt(value, 'weight') ?? 0, `${path}.weight`)
}

const podTerm: Check[] = [
  fields({ labelSelector, namespaceSelector: labelSelector }),
  (value, path) => listAt(value, 'namespaces').flatMap((name) => text(checkDnsLabel)(name, `${path}.namespace`)),
  (value, path) => checkMatchLabelKeys(value, path),
  topologyKey,
]

function topologyKey(value: Json, path: string): readonly FieldError[] {
  const key = textAt(value, 'topologyKey')
  const at = `${path}.topologyKey`
  return [
    ...(key === '' ? [requiredField(at, 'can not be empty')] : []),
    ...(isQualifiedName(key) ? [] : [invalidField(at, key, qualifiedNameRule)]),
  ]
}

/** Checks `matchLabelKeys` and `mismatchLabelKeys`: they add to a label selector, so one must be present. */
function checkMatchLabelKeys(value: Json, path: string): readonly FieldError[] {
  const selector = objectAt(value)['labelSelector']
  const mismatched = listAt(value, 'mismatchLabelKeys').map((key) => textAt(key))
  return [
    ...['matchLabelKeys', 'mismatchLabelKeys'].flatMap((field) => {
      const keys = listAt(value, field)
      const at = `${path}.${field}`
      if (keys.length === 0) return []
      if (!selector) return [forbiddenField(at, 'must not be specified when labelSelector is not set')]
      return each(labelName)([...keys], at)
    }),
    ...listAt(value, 'matchLabelKeys').flatMap((key, index) =>
      mismatched.includes(textAt(key))
        ? [invalidField(`${path}.matchLabelKeys[${index}]`, key, 'exists in both matchLabelKeys and mismatchLabelKeys')]
        : [],
    ),
  ]
}

const podAffinity = fields({
  requiredDuringSchedulingIgnoredDuringExecution: each(...podTerm),
  preferredDuringSchedulingIgnoredDuringExecution: each(withWeight, (value, path) =>
    podTerm.flatMap((check) => check(objectAt(value, 'podAffinityTerm'), `${path}.podAffinityTerm`)),
  ),
})

export const affinity: Check = fields({ nodeAffinity, podAffinity, podAntiAffinity: podAffinity })

const unsatisfiable = ['DoNotSchedule', 'ScheduleAnyway']
const positive = between(1, Number.MAX_SAFE_INTEGER, 'must be greater than zero')
const inclusion = oneOf('Honor', 'Ignore')

export const topologySpread: Check[] = [
  each(
    (value, path) =>
      textAt(value, 'topologyKey') === '' ? [requiredField(`${path}.topologyKey`, 'can not be empty')] : [],
    (value, path) => positive(valueAt(value, 'maxSkew') ?? 0, `${path}.maxSkew`),
    (value, path) => checkUnsatisfiable(textAt(value, 'whenUnsatisfiable'), `${path}.whenUnsatisfiable`),
    fields({ labelSelector, minDomains: positive, nodeAffinityPolicy: inclusion, nodeTaintsPolicy: inclusion }),
    checkMinDomains,
    checkMatchLabelKeys,
  ),
  withoutRepeatedConstraint,
]

function checkUnsatisfiable(value: string, path: string): readonly FieldError[] {
  return unsatisfiable.includes(value) ? [] : [unsupportedField(path, value, unsatisfiable)]
}

function checkMinDomains(value: Json, path: string): readonly FieldError[] {
  const [domains, action] = [objectAt(value)['minDomains'], textAt(value, 'whenUnsatisfiable')]
  if (domains === undefined || domains === null || action === 'DoNotSchedule') return []
  const why = `can only use minDomains if whenUnsatisfiable=DoNotSchedule, not ${action}`
  return [invalidField(`${path}.minDomains`, domains, why)]
}

/** Checks for duplicates: the last of equal constraints is accepted, each earlier one is reported. */
function withoutRepeatedConstraint(list: Json, path: string): readonly FieldError[] {
  const keys = listAt(list).map((item) => `{${textAt(item, 'topologyKey')}, ${textAt(item, 'whenUnsatisfiable')}}`)
  const last = new Map(keys.map((key, index) => [key, index]))
  return keys.flatMap((key, index) =>
    last.get(key) === index ? [] : [duplicateField(`${path}[${index}].{topologyKey, whenUnsatisfiable}`, key)],
  )
}
