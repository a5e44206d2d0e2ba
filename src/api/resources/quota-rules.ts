import { isDeepStrictEqual } from 'node:util'
import type { Json, JsonObject } from '../../model/api-object.ts'
import { parseQuantity } from '../../model/quantity.ts'
import { type ApiDocument, listAt, objectAt, textAt } from '../document.ts'
import { type FieldError, invalidField, requiredField } from '../schema/field-error.ts'
import { checkStandardName } from './pod-spec/resource-rules.ts'
import { isCountedResource, objectCounts } from './resource-names.ts'

const compute = ['cpu', 'memory', 'limits.cpu', 'limits.memory', 'requests.cpu', 'requests.memory']
const quotaNames = [
  ...compute,
  ...objectCounts,
  ...['ephemeral-storage', 'requests.ephemeral-storage', 'limits.ephemeral-storage', 'requests.storage'],
  ...['services.nodeports', 'services.loadbalancers'],
]
const claimNames = ['persistentvolumeclaims', 'requests.storage']

/** Returns the errors of a ResourceQuota. */
export function validateQuota({ spec, status }: ApiDocument, old: ApiDocument | undefined): readonly FieldError[] {
  const hard = objectAt(spec, 'hard')
  return [
    ...checkAmounts(hard, 'spec.hard'),
    ...checkScopes(listAt(spec, 'scopes'), hard),
    ...checkSelector(objectAt(spec, 'scopeSelector'), hard),
    ...(old === undefined ? validateQuotaStatus(status) : []),
  ]
}

export function validateQuotaStatus(status: Json | undefined): readonly FieldError[] {
  return ['hard', 'used'].flatMap((list) => checkAmounts(objectAt(status, list), `status.${list}`))
}

export function validateQuotaUpdate(next: ApiDocument, old: ApiDocument): readonly FieldError[] {
  const scopesOf = ({ spec }: ApiDocument) =>
    [...new Set(listAt(spec, 'scopes').map((each) => textAt(each)))].toSorted()
  if (isDeepStrictEqual(scopesOf(next), scopesOf(old))) return []
  return [invalidField('spec.scopes', [...listAt(next['spec'], 'scopes')], 'field is immutable')]
}

function checkAmounts(amounts: JsonObject, path: string): readonly FieldError[] {
  return Object.entries(amounts).flatMap(([name, amount]) => [
    ...checkName(name, `${path}[${name}]`),
    ...checkAmount(name, textAt(amount), `${path}[${name}]`),
  ])
}

function checkName(name: string, path: string): readonly FieldError[] {
  const errors = checkStandardName(name, path)
  if (name.includes('/') || isQuotaName(name)) return errors
  return [...errors, invalidField(path, name, 'must be a standard resource for quota')]
}

function isQuotaName(name: string): boolean {
  return quotaNames.includes(name) || /^(requests\.)?hugepages-/.test(name)
}

function checkAmount(name: string, amount: string, path: string): readonly FieldError[] {
  const thousandths = parseQuantity(amount || '0')
  return [
    ...(thousandths < 0n ? [invalidField(path, amount, 'must be greater than or equal to 0')] : []),
    ...(isWhole(name) && thousandths % 1000n !== 0n ? [invalidField(path, amount, 'must be an integer')] : []),
  ]
}

/** The number of objects of a kind (`count/…`) has a domain like a device, and is whole as well. */
function isWhole(name: string): boolean {
  return isCountedResource(name) && !name.startsWith('requests.')
}

const scopeNames = [
  'Terminating',
  'NotTerminating',
  'BestEffort',
  'NotBestEffort',
  'PriorityClass',
  'VolumeAttributesClass',
  'CrossNamespacePodAffinity',
]
const conflicts = [
  ['BestEffort', 'NotBestEffort'],
  ['Terminating', 'NotTerminating'],
] as const

/** Checks whether a quota with this scope can count the resource. */
function canCount(scope: string, name: string): boolean {
  if (!scopeNames.includes(scope)) return true
  if (scope === 'VolumeAttributesClass') return claimNames.includes(name)
  return name === 'pods' || (scope !== 'BestEffort' && compute.includes(name))
}

function checkScopes(scopes: readonly Json[], hard: JsonObject): readonly FieldError[] {
  const [path, names] = ['spec.scopes', scopes.map((scope) => textAt(scope))]
  const invalid = (why: string) => invalidField(path, [...scopes], why)
  return [
    ...names.flatMap((scope) => [
      ...(scopeNames.includes(scope) ? [] : [invalid('unsupported scope')]),
      ...uncountable(scope, hard).map(() => invalid('unsupported scope applied to resource')),
    ]),
    ...conflicting(names).map(() => invalid('conflicting scopes')),
  ]
}

function uncountable(scope: string, hard: JsonObject): readonly string[] {
  return Object.keys(hard).filter((name) => isQuotaName(name) && !canCount(scope, name))
}

function conflicting(names: readonly string[]): readonly unknown[] {
  return conflicts.filter((pair) => pair.every((scope) => names.includes(scope)))
}

function checkSelector(selector: JsonObject, hard: JsonObject): readonly FieldError[] {
  const [path, expressions] = ['spec.scopeSelector.matchExpressions', listAt(selector, 'matchExpressions')]
  const names = expressions.map((expression) => textAt(expression, 'scopeName'))
  return [
    ...expressions.flatMap((expression) => checkExpression(expression, path, selector, hard)),
    ...conflicting(names).map(() => invalidField(path, selector, 'conflicting scopes')),
  ]
}

const existsRule =
  "must be 'Exists' when scope is any of ResourceQuotaScopeTerminating, ResourceQuotaScopeNotTerminating, ResourceQuotaScopeBestEffort, ResourceQuotaScopeNotBestEffort or ResourceQuotaScopeCrossNamespacePodAffinity"

function checkExpression(
  expression: Json,
  path: string,
  selector: JsonObject,
  hard: JsonObject,
): readonly FieldError[] {
  const [scope, operator] = [textAt(expression, 'scopeName'), textAt(expression, 'operator')]
  const takesValues = ['PriorityClass', 'VolumeAttributesClass'].includes(scope) || !scopeNames.includes(scope)
  return [
    ...(scopeNames.includes(scope) ? [] : [invalidField(`${path}.scopeName`, scope, 'unsupported scope')]),
    ...uncountable(scope, hard).map(() => invalidField(path, selector, 'unsupported scope applied to resource')),
    ...(takesValues || operator === 'Exists' ? [] : [invalidField(`${path}.operator`, operator, existsRule)]),
    ...checkOperator(operator, [...listAt(expression, 'values')], path),
  ]
}

function checkOperator(operator: string, values: Json[], path: string): readonly FieldError[] {
  switch (operator) {
    case 'In':
    case 'NotIn':
      if (values.length > 0) return []
      return [
        requiredField(
          `${path}.values`,
          "must be at least one value when `operator` is 'In' or 'NotIn' for scope selector",
        ),
      ]
    case 'Exists':
    case 'DoesNotExist':
      if (values.length === 0) return []
      return [
        invalidField(
          `${path}.values`,
          values,
          "must be no value when `operator` is 'Exist' or 'DoesNotExist' for scope selector",
        ),
      ]
    default:
      return [invalidField(`${path}.operator`, operator, 'not a valid selector operator')]
  }
}
