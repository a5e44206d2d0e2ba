import type { Json } from '../../model/api-object.ts'
import { isLabelValue, isQualifiedName } from '../../model/selector.ts'
import { listAt, objectAt, textAt } from '../document.ts'
import { type FieldError, forbiddenField, invalidField, requiredField } from '../schema/field-error.ts'
import { labelValueRule, qualifiedNameRule } from '../schema/metadata-rules.ts'

export function validateLabelSelector(selector: Json | undefined, path: string): readonly FieldError[] {
  return [
    ...Object.entries(objectAt(selector, 'matchLabels')).flatMap(([key, value]) => [
      ...validateKey(key, `${path}.matchLabels`),
      ...validateValue(textAt(value), `${path}.matchLabels`),
    ]),
    ...listAt(selector, 'matchExpressions').flatMap((expression, index) =>
      validateRequirement(expression, `${path}.matchExpressions[${index}]`),
    ),
  ]
}

/** Formats a selector as clients print it: `app=web,tier in (a,b),!old`. */
export function formatLabelSelector(selector: Json | undefined): string {
  const labels = Object.entries(objectAt(selector, 'matchLabels')).map(([key, value]) => `${key}=${textAt(value)}`)
  return [...labels, ...listAt(selector, 'matchExpressions').map(formatExpression)].join(',') || '<none>'
}

function formatExpression(expression: Json): string {
  const key = textAt(expression, 'key')
  const values = listAt(expression, 'values').map((value) => textAt(value))
  const operators: Readonly<Record<string, string>> = {
    In: `${key} in (${values.join(',')})`,
    NotIn: `${key} notin (${values.join(',')})`,
    DoesNotExist: `!${key}`,
  }
  return operators[textAt(expression, 'operator')] ?? key
}

/** The operators that a check accepts: a newer client may send one that this server does not know. */
type Operators = 'known-operator' | 'any-operator'

export function validateRequirement(
  requirement: Json,
  path: string,
  operators: Operators = 'known-operator',
): readonly FieldError[] {
  const values = listAt(requirement, 'values').map((value) => textAt(value))
  return [
    ...validateOperator(requirement, path, operators),
    ...validateKey(textAt(requirement, 'key'), `${path}.key`),
    ...values.flatMap((value, index) => validateValue(value, `${path}.values[${index}]`)),
  ]
}

/** Checks that the operator of a requirement, on labels or on fields, fits its values. */
export function validateOperator(requirement: Json, path: string, operators: Operators): readonly FieldError[] {
  const [operator, valueCount] = [textAt(requirement, 'operator'), listAt(requirement, 'values').length]
  switch (operator) {
    case 'In':
    case 'NotIn':
      if (valueCount > 0) return []
      return [requiredField(`${path}.values`, "must be specified when `operator` is 'In' or 'NotIn'")]
    case 'Exists':
    case 'DoesNotExist':
      if (valueCount === 0) return []
      return [forbiddenField(`${path}.values`, "may not be specified when `operator` is 'Exists' or 'DoesNotExist'")]
    default:
      if (operators === 'any-operator') return []
      return [invalidField(`${path}.operator`, operator, 'not a valid selector operator')]
  }
}

function validateKey(key: string, path: string): readonly FieldError[] {
  return isQualifiedName(key) ? [] : [invalidField(path, key, qualifiedNameRule)]
}

function validateValue(value: string, path: string): readonly FieldError[] {
  return isLabelValue(value) ? [] : [invalidField(path, value, labelValueRule)]
}
