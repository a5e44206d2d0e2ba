import { type FieldError, invalidField, requiredField, unsupportedField } from '../schema/field-error.ts'
import type { Schema } from '../schema/schema.ts'
import type { ValidationRule } from '../schema/validation-rule.ts'
import { type CompiledRule, compileRules, type RuleNode } from './compile-rules.ts'
import { normalizeFieldPath } from './field-path.ts'

const reasons = ['FieldValueRequired', 'FieldValueForbidden', 'FieldValueInvalid', 'FieldValueDuplicate'].sort()

/** What is wrong with the rules of a schema that is structural. `path` is where it stands in its definition. */
export function checkSchemaRules(schema: Schema, path: string): readonly FieldError[] {
  const compiled = compileRules(schema)
  if (compiled === undefined) return []
  const forms = checkForms(compiled.root, path)
  return forms.length > 0 ? forms : checkPrograms(compiled.root, path, undefined)
}

type Place = readonly [node: RuleNode, path: string]

function placesBelow({ properties, additionalProperties, items }: RuleNode, path: string): readonly Place[] {
  return [
    ...[...properties].map(([key, node]): Place => [node, `${path}.properties[${key}]`]),
    ...(additionalProperties === undefined ? [] : [[additionalProperties, `${path}.additionalProperties`] as const]),
    ...(items === undefined ? [] : [[items, `${path}.items`] as const]),
  ]
}

function checkForms(node: RuleNode, path: string): readonly FieldError[] {
  return [
    ...node.rules.flatMap(({ rule }, index) => checkForm(rule, node.schema, `${path}.${rule.keyword}[${index}]`)),
    ...placesBelow(node, path).flatMap(([below, where]) => checkForms(below, where)),
  ]
}

const hasLineBreaks = (text: string) => /[\r\n]/.test(text)

function checkForm(rule: ValidationRule, schema: Schema, path: string): readonly FieldError[] {
  return [
    ...checkMessage(rule, path),
    ...(rule.messageExpression !== '' && rule.messageExpression.trim() === ''
      ? [requiredField(`${path}.messageExpression`, 'messageExpression must be non-empty if specified')]
      : []),
    ...(rule.reason === '' || reasons.includes(rule.reason)
      ? []
      : [unsupportedField(`${path}.reason`, rule.reason, reasons)]),
    ...checkFieldPath(rule.fieldPath, schema, `${path}.fieldPath`),
  ]
}

function checkMessage({ rule, message }: ValidationRule, path: string): readonly FieldError[] {
  if (rule.trim() === '') return [requiredField(`${path}.rule`, 'rule is not specified')]
  if (message !== '' && message.trim() === '')
    return [invalidField(`${path}.message`, message, 'must be non-empty if specified')]
  if (hasLineBreaks(message.trim())) return [invalidField(`${path}.message`, message, 'must not contain line breaks')]
  if (hasLineBreaks(rule.trim()) && message.trim() === '')
    return [requiredField(`${path}.message`, 'message must be specified if rule contains line breaks')]
  return []
}

function checkFieldPath(fieldPath: string, schema: Schema, path: string): readonly FieldError[] {
  if (fieldPath === '') return []
  return [
    ...(fieldPath.trim() === '' ? [invalidField(path, fieldPath, 'must be non-empty if specified')] : []),
    ...(hasLineBreaks(fieldPath) ? [invalidField(path, fieldPath, 'must not contain line breaks')] : []),
    ...(normalizeFieldPath(fieldPath, schema) === undefined
      ? [invalidField(path, fieldPath, 'must be a valid path')]
      : []),
  ]
}

/** `uncorrelated` is the list around the values whose items cannot be distinguished: what an item was before is not known there. */
function checkPrograms(node: RuleNode, path: string, uncorrelated: string | undefined): readonly FieldError[] {
  const { schema } = node
  const isKnown = schema.type !== 'array' || schema.listType === 'map'
  const isAtomic = schema.mapType === 'atomic' || !isKnown
  const inside = uncorrelated ?? (isAtomic ? path : undefined)
  return [
    ...node.rules.flatMap((rule, index) => checkProgram(rule, `${path}.${rule.rule.keyword}[${index}]`, uncorrelated)),
    ...placesBelow(node, path).flatMap(([below, where]) => checkPrograms(below, where, inside)),
  ]
}

function checkProgram(
  { rule, program, problem, messageProblem }: CompiledRule,
  path: string,
  uncorrelated: string | undefined,
): readonly FieldError[] {
  const errors: FieldError[] = []
  if (problem !== undefined) errors.push(invalidField(`${path}.rule`, asGiven(rule), problem))
  if (messageProblem !== undefined)
    errors.push(invalidField(`${path}.messageExpression`, asGiven(rule), messageProblem))
  if (program?.usesOldSelf === true && uncorrelated !== undefined) {
    const why = `oldSelf cannot be used on the uncorrelatable portion of the schema within ${uncorrelated}`
    errors.push(invalidField(`${path}.rule`, rule.rule, why))
  }
  if (program?.usesOldSelf === false && rule.optionalOldSelf !== undefined) {
    errors.push(
      invalidField(`${path}.optionalOldSelf`, rule.optionalOldSelf, 'may not be set if oldSelf is not used in rule'),
    )
  }
  return errors
}

/** As Kubernetes shows a rule that it refuses. */
function asGiven({ rule, message, messageExpression, reason, fieldPath, optionalOldSelf }: ValidationRule) {
  return {
    Rule: rule,
    Message: message,
    MessageExpression: messageExpression,
    Reason: reason === '' ? null : reason,
    FieldPath: fieldPath,
    OptionalOldSelf: optionalOldSelf ?? null,
  }
}
