import type { Json, JsonObject } from '../../../model/api-object.ts'
import { listAt, objectAt, textAt } from '../../document.ts'
import type { Check } from '../../schema/checks.ts'
import {
  duplicateField,
  type FieldError,
  invalidField,
  invalidPart,
  requiredField,
  tooManyField,
  unsupportedField,
} from '../../schema/field-error.ts'
import { qualifiedName } from '../name-checks.ts'

const maxRules = 20
const maxExitCodes = 255
const maxPatterns = 20

const actions = ['Count', 'FailIndex', 'FailJob', 'Ignore']
const operators = ['In', 'NotIn']
const statuses = ['False', 'True', 'Unknown']

/** Checks `podFailurePolicy` of the spec of a Job. */
export function failurePolicy(spec: JsonObject, path: string): readonly FieldError[] {
  const rules = listAt(spec, 'podFailurePolicy', 'rules')
  const podSpec = objectAt(spec, 'template', 'spec')
  const containers = [...listAt(podSpec, 'containers'), ...listAt(podSpec, 'initContainers')]
  const names = new Set(containers.map((container) => textAt(container, 'name')))
  const hasIndexLimit = (spec['backoffLimitPerIndex'] ?? null) !== null
  return [
    ...(rules.length > maxRules ? [tooManyField(`${path}.rules`, rules.length, maxRules)] : []),
    ...rules.flatMap((rule, index) => checkRule(rule, `${path}.rules[${index}]`, names, hasIndexLimit)),
  ]
}

function checkRule(
  rule: Json,
  path: string,
  containers: ReadonlySet<string>,
  hasIndexLimit: boolean,
): readonly FieldError[] {
  const conditions = listAt(rule, 'onPodConditions')
  const codes = objectAt(rule)['onExitCodes'] ?? undefined
  const both = 'specifying both OnExitCodes and OnPodConditions is not supported'
  const neither = 'specifying one of OnExitCodes and OnPodConditions is required'
  return [
    ...checkAction(textAt(rule, 'action'), `${path}.action`, hasIndexLimit),
    ...(codes === undefined ? [] : checkExitCodes(codes, `${path}.onExitCodes`, containers)),
    ...checkPatterns(conditions, `${path}.onPodConditions`),
    ...(codes !== undefined && conditions.length > 0 ? [invalidPart(path, both)] : []),
    ...(codes === undefined && conditions.length === 0 ? [invalidPart(path, neither)] : []),
  ]
}

function checkAction(action: string, path: string, hasIndexLimit: boolean): readonly FieldError[] {
  if (action !== 'FailIndex') return checkChoice(action, path, actions)
  return hasIndexLimit ? [] : [invalidField(path, action, 'requires the backoffLimitPerIndex to be set')]
}

function checkChoice(value: string, path: string, supported: readonly string[]): readonly FieldError[] {
  if (value === '') return [requiredField(path, `valid values: [${supported.map((each) => `"${each}"`).join(' ')}]`)]
  return supported.includes(value) ? [] : [unsupportedField(path, value, supported)]
}

function checkPatterns(patterns: readonly Json[], path: string): readonly FieldError[] {
  return [
    ...(patterns.length > maxPatterns ? [tooManyField(path, patterns.length, maxPatterns)] : []),
    ...patterns.flatMap((pattern, index) => [
      ...qualifiedName(textAt(pattern, 'type'), `${path}[${index}].type`),
      ...checkChoice(textAt(pattern, 'status'), `${path}[${index}].status`, statuses),
    ]),
  ]
}

function checkExitCodes(codes: Json, path: string, containers: ReadonlySet<string>): readonly FieldError[] {
  const operator = textAt(codes, 'operator')
  const container = objectAt(codes)['containerName'] ?? undefined
  const isKnown = container === undefined || containers.has(textAt(container))
  return [
    ...checkChoice(operator, `${path}.operator`, operators),
    ...(isKnown
      ? []
      : [
          invalidField(
            `${path}.containerName`,
            container,
            'must be one of the container or initContainer names in the pod template',
          ),
        ]),
    ...exitCodeValues(operator)(objectAt(codes)['values'] ?? null, `${path}.values`),
  ]
}

function exitCodeValues(operator: string): Check {
  return (value, path) => {
    const codes = listAt(value).map((code) => Number(textAt(code)))
    const isOrdered = codes.every((code, index) => index === 0 || (codes[index - 1] ?? 0) <= code)
    return [
      ...(codes.length === 0 ? [invalidField(path, value, 'at least one value is required')] : []),
      ...(codes.length > maxExitCodes ? [tooManyField(path, codes.length, maxExitCodes)] : []),
      ...codes.flatMap((code, index) => [
        ...(operator === 'In' && code === 0
          ? [invalidField(`${path}[${index}]`, code, 'must not be 0 for the In operator')]
          : []),
        ...(codes.indexOf(code) < index ? [duplicateField(`${path}[${index}]`, code)] : []),
      ]),
      ...(isOrdered ? [] : [invalidField(path, value, 'must be ordered')]),
    ]
  }
}
