import { isDeepStrictEqual } from 'node:util'
import type { Json } from '../../../model/api-object.ts'
import { compilePolicyExpression } from '../../cel/admission/compile-policy-expression.ts'
import { declaredType, type PolicyScope } from '../../cel/admission/policy-environment.ts'
import { isReserved } from '../../cel/escape-name.ts'
import { type CelType, types } from '../../cel/values/types.ts'
import { type ApiDocument, listAt, textAt, valueAt } from '../../document.ts'
import { exactlyOneOf, fields } from '../../schema/checks.ts'
import {
  duplicateField,
  type FieldError,
  invalidField,
  requiredField,
  unsupportedField,
} from '../../schema/field-error.ts'
import { checkDns1035Label, checkDnsSubdomain } from '../../schema/names.ts'
import { qualifiedName } from '../name-checks.ts'
import { checkMatchConditions } from './match-condition-rules.ts'
import { matchResourcesRules } from './match-resource-rules.ts'
import { checkPolicyExpression, expressionsOf, type StoredExpressions, scopeFor } from './policy-expression-rules.ts'

const reasons = ['Forbidden', 'Invalid', 'RequestEntityTooLarge']
const maxAnnotations = 20
const maxAnnotationBytes = 5 * 1024

/** Checks a ValidatingAdmissionPolicy; an update may keep expressions that a later version of the server has stored. */
export function checkPolicy(
  { metadata, spec = null }: ApiDocument,
  old: ApiDocument | undefined,
): readonly FieldError[] {
  const hasParams = valueAt(spec, 'paramKind') !== undefined
  const base: PolicyScope = { hasParams, hasAuthorizer: true, functions: 'new' }
  const stored = expressionsOf(old?.['spec'])
  const { variables, errors } = checkVariables(listAt(spec, 'variables'), base, stored)
  const scope = variables.size === 0 ? base : { ...base, variables }
  return [
    ...fields({ failurePolicy: exactlyOneOf('Fail', 'Ignore'), paramKind: checkParamKind })(spec, 'spec'),
    ...checkConstraints(spec),
    ...(keepsConditions(spec, old?.['spec'])
      ? []
      : checkMatchConditions(listAt(spec, 'matchConditions'), 'spec.matchConditions', base, stored.matchConditions)),
    ...errors,
    ...checkNotEmpty(spec),
    ...listAt(spec, 'validations').flatMap((validation, index) =>
      checkValidation(validation, `spec.validations[${index}]`, scope, stored),
    ),
    ...checkAnnotations(listAt(spec, 'auditAnnotations'), metadata.name ?? '', scope, stored),
  ]
}

/** Conditions are not checked again while nothing that they depend on changes. */
function keepsConditions(spec: Json, old: Json | undefined): boolean {
  if (old === undefined) return false
  return ['matchConditions', 'paramKind'].every((field) => isDeepStrictEqual(valueAt(spec, field), valueAt(old, field)))
}

function checkConstraints(spec: Json): readonly FieldError[] {
  const [path, constraints] = ['spec.matchConstraints', valueAt(spec, 'matchConstraints')]
  if (constraints === undefined) return [requiredField(path)]
  const hasRules = listAt(constraints, 'resourceRules').length > 0
  return [...matchResourcesRules(constraints, path), ...(hasRules ? [] : [requiredField(`${path}.resourceRules`)])]
}

function checkNotEmpty(spec: Json): readonly FieldError[] {
  const lists = ['validations', 'auditAnnotations']
  if (lists.some((list) => listAt(spec, list).length > 0)) return []
  const why = 'validations or auditAnnotations must contain at least one item'
  return lists.map((list) => requiredField(`spec.${list}`, why))
}

/** Checks the apiVersion and kind of a policy's parameters. */
function checkParamKind(paramKind: Json, path: string): readonly FieldError[] {
  const kind = textAt(paramKind, 'kind')
  const problem = checkDns1035Label(kind.toLowerCase())
  const mixed = `may have mixed case, but should otherwise match: ${problem}`
  return [
    ...checkApiVersion(textAt(paramKind, 'apiVersion'), `${path}.apiVersion`),
    ...(kind === '' ? [requiredField(`${path}.kind`)] : []),
    ...(kind === '' || problem === undefined ? [] : [invalidField(`${path}.kind`, kind, mixed)]),
  ]
}

function checkApiVersion(apiVersion: string, path: string): readonly FieldError[] {
  if (apiVersion === '') return [requiredField(path)]
  const parts = apiVersion === '/' ? ['', ''] : apiVersion.split('/')
  if (parts.length > 2) return [invalidField(path, apiVersion, `unexpected GroupVersion string: ${apiVersion}`)]
  const [version = '', group = ''] = parts.toReversed()
  const [ofGroup, ofVersion] = [checkDnsSubdomain(group), checkDns1035Label(version)]
  return [
    ...(group === '' || ofGroup === undefined ? [] : [invalidField(path, group, ofGroup)]),
    ...(version === '' ? [invalidField(path, apiVersion, 'version must be specified')] : []),
    ...(version === '' || ofVersion === undefined ? [] : [invalidField(path, version, ofVersion)]),
  ]
}

function checkVariables(list: readonly Json[], base: PolicyScope, stored: StoredExpressions) {
  const variables = new Map<string, CelType>()
  const errors = list.flatMap((variable, index) => {
    const [path, name, expression] = [
      `spec.variables[${index}]`,
      textAt(variable, 'name'),
      textAt(variable, 'expression'),
    ]
    const ofName = checkVariableName(name, `${path}.name`)
    if (expression.trim() === '') return [...ofName, requiredField(`${path}.expression`, 'expression is not specified')]
    const scope = scopeFor(expression, stored.validations, { ...base, variables: new Map(variables) })
    const compiled = compilePolicyExpression(expression, 'any', scope)
    variables.set(name, 'program' in compiled ? declaredType(compiled.program.type) : types.dyn)
    return 'program' in compiled
      ? ofName
      : [...ofName, invalidField(`${path}.expression`, expression, compiled.problem)]
  })
  return { variables, errors }
}

function checkVariableName(name: string, path: string): readonly FieldError[] {
  if (name.trim() === '') return [requiredField(path, 'name is not specified')]
  const isIdentifier = /^[_a-zA-Z][_a-zA-Z0-9]*$/.test(name) && !isReserved(name)
  return isIdentifier ? [] : [invalidField(path, name, 'must be a valid CEL identifier')]
}

function checkValidation(
  validation: Json,
  path: string,
  scope: PolicyScope,
  stored: StoredExpressions,
): readonly FieldError[] {
  const expression = textAt(validation, 'expression')
  const reason = valueAt(validation, 'reason')
  return [
    ...(expression.trim() === ''
      ? [requiredField(`${path}.expression`, 'expression is not specified')]
      : checkPolicyExpression(
          expression,
          ['bool'],
          scopeFor(expression, stored.validations, scope),
          `${path}.expression`,
        )),
    ...checkMessageExpression(textAt(validation, 'messageExpression'), `${path}.messageExpression`, scope, stored),
    ...checkMessage(textAt(validation, 'message'), `${path}.message`),
    ...(reason === undefined || reasons.includes(textAt(reason))
      ? []
      : [unsupportedField(`${path}.reason`, reason, reasons)]),
  ]
}

function checkMessageExpression(
  expression: string,
  path: string,
  scope: PolicyScope,
  { messages }: StoredExpressions,
): readonly FieldError[] {
  if (expression === '') return []
  if (expression.trim() === '') return [invalidField(path, expression, 'must be non-empty if specified')]
  const own = { ...scopeFor(expression, messages, scope), hasAuthorizer: false }
  return checkPolicyExpression(expression, ['string'], own, path)
}

function checkMessage(message: string, path: string): readonly FieldError[] {
  if (message !== '' && message.trim() === '') return [invalidField(path, message, 'must be non-empty if specified')]
  return /[\r\n]/.test(message.trim()) ? [invalidField(path, message, 'must not contain line breaks')] : []
}

function checkAnnotations(
  annotations: readonly Json[],
  policyName: string,
  scope: PolicyScope,
  stored: StoredExpressions,
): readonly FieldError[] {
  const path = 'spec.auditAnnotations'
  const keys = annotations.map((annotation) => textAt(annotation, 'key'))
  const tooMany = `must not have more than ${maxAnnotations} auditAnnotations`
  return [
    ...(annotations.length > maxAnnotations ? [invalidField(path, annotations, tooMany)] : []),
    ...annotations.flatMap((annotation, index) => {
      const [at, key] = [`${path}[${index}]`, keys[index] ?? '']
      const named = qualifiedName(`${policyName}/${key}`, `${at}.key`)
      const unnamed = [invalidField(`${at}.key`, key, 'requires metadata.name be non-empty')]
      return [
        ...(policyName === '' ? unnamed : named),
        ...checkAnnotationValue(textAt(annotation, 'valueExpression'), `${at}.valueExpression`, scope, stored),
        ...(keys.indexOf(key) < index ? [duplicateField(`${at}.key`, key)] : []),
      ]
    }),
  ]
}

function checkAnnotationValue(
  given: string,
  path: string,
  scope: PolicyScope,
  { annotations }: StoredExpressions,
): readonly FieldError[] {
  const expression = given.trim()
  if (expression === '') return [requiredField(path, 'valueExpression is not specified')]
  if (Buffer.byteLength(expression) > maxAnnotationBytes)
    return [requiredField(path, `must not exceed ${maxAnnotationBytes} bytes in length`)]
  return checkPolicyExpression(expression, ['string', 'null_type'], scopeFor(given, annotations, scope), path, given)
}
