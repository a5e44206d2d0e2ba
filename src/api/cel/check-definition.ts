import { type FieldError, invalidField, requiredField, unsupportedField } from '../schema/field-error.ts'
import type { Schema } from '../schema/schema.ts'
import type { ValidationRule } from '../schema/validation-rule.ts'
import { type CompiledRule, compileRules, holdsRules, type IsStored, type RuleNode } from './compile-rules.ts'
import { clamp } from './cost/range.ts'
import { normalizeFieldPath } from './field-path.ts'
import { type Cardinality, cardinalityBelow, RuleCosts } from './rule-costs.ts'

const reasons = ['FieldValueRequired', 'FieldValueForbidden', 'FieldValueInvalid', 'FieldValueDuplicate'].sort()

const nothingWrong = { isStructural: true, errors: [] }

/**
 * Returns the errors in the rules of a schema. `path` is the schema's place in its definition, `others` are the other
 * errors of the schema. Where a schema or a part of it has errors, its rules are not compiled, because their types come
 * from it.
 */
export function checkSchemaRules(
  schema: Schema,
  path: string,
  others: { readonly isStructural: boolean; readonly errors: readonly FieldError[] } = nothingWrong,
  isStored: IsStored = () => false,
): readonly FieldError[] {
  if (!holdsRules(schema)) return []
  const forms = checkForms(schema, path)
  if (!others.isStructural) return forms
  const root = compileRules(schema, isStored)
  if (root === undefined) return forms
  const check = new ProgramCheck([...others.errors, ...forms])
  const programs = check.node(root, { path, uncorrelated: undefined, cardinality: 1 })
  return [...forms, ...programs, ...check.costs.checkTotal(path, check.keyword)]
}

function checkForms(schema: Schema, path: string): readonly FieldError[] {
  const { properties = {}, additionalProperties, items, validations = [] } = schema
  return [
    ...validations.flatMap((rule, index) => checkForm(rule, schema, `${path}.${rule.keyword}[${index}]`)),
    ...(additionalProperties === undefined ? [] : checkForms(additionalProperties, `${path}.additionalProperties`)),
    ...Object.entries(properties).flatMap(([key, each]) => checkForms(each, `${path}.properties[${key}]`)),
    ...(items === undefined ? [] : checkForms(items, `${path}.items`)),
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

interface Place {
  readonly path: string
  /**
   * The nearest list around a value whose items cannot be correlated with the old ones; the old value is then unknown.
   */
  readonly uncorrelated: string | undefined
  readonly cardinality: Cardinality
}

class ProgramCheck {
  readonly costs = new RuleCosts()
  /** The extension in the spelling of the definition. */
  keyword = ''
  readonly #wrong: readonly FieldError[]

  constructor(wrong: readonly FieldError[]) {
    this.#wrong = wrong
  }

  node(node: RuleNode, place: Place): readonly FieldError[] {
    const below = placesBelow(node, place).flatMap(([each, where]) => this.node(each, where))
    const isWrong = this.#wrong.some(({ field }) => field.startsWith(place.path))
    if (isWrong) return below
    return [...below, ...node.rules.flatMap((rule, index) => this.#rule(node, rule, index, place))]
  }

  #rule(node: RuleNode, compiled: CompiledRule, index: number, place: Place): readonly FieldError[] {
    const { rule, program, problem, message, messageProblem } = compiled
    this.keyword = rule.keyword
    const path = `${place.path}.${rule.keyword}[${index}]`
    const cost = clamp((program?.maxCost() ?? 0) * (place.cardinality ?? node.maxCardinality))
    const errors = [...this.costs.add(`${path}.rule`, 'estimated rule cost', cost)]
    if (problem !== undefined) errors.push(invalidField(`${path}.rule`, asGiven(rule), problem))
    if (messageProblem !== undefined) {
      errors.push(invalidField(`${path}.messageExpression`, asGiven(rule), messageProblem))
    }
    if (message !== undefined) {
      errors.push(...this.costs.add(`${path}.messageExpression`, 'estimated messageExpression cost', message.maxCost()))
    }
    return [...errors, ...checkOldSelf(rule, program?.usesOldSelf === true, path, place.uncorrelated)]
  }
}

function placesBelow(node: RuleNode, { path, uncorrelated, cardinality: around }: Place) {
  const { schema, properties, additionalProperties, items } = node
  const cardinality = cardinalityBelow(around, schema)
  const isKnown = schema.listType === 'map'
  const place = (step: string) => ({ path: `${path}.${step}`, uncorrelated, cardinality })
  const inItems = { ...place('items'), uncorrelated: uncorrelated ?? (isKnown ? undefined : path) }
  return [
    ...(additionalProperties === undefined ? [] : [[additionalProperties, place('additionalProperties')] as const]),
    ...[...properties].map(([key, each]) => [each, place(`properties[${key}]`)] as const),
    ...(items === undefined ? [] : [[items, inItems] as const]),
  ]
}

function checkOldSelf(
  { rule, optionalOldSelf }: ValidationRule,
  usesOldSelf: boolean,
  path: string,
  uncorrelated: string | undefined,
): readonly FieldError[] {
  if (usesOldSelf && uncorrelated !== undefined) {
    const why = `oldSelf cannot be used on the uncorrelatable portion of the schema within ${uncorrelated}`
    return [invalidField(`${path}.rule`, rule, why)]
  }
  if (usesOldSelf || optionalOldSelf === undefined) return []
  return [invalidField(`${path}.optionalOldSelf`, optionalOldSelf, 'may not be set if oldSelf is not used in rule')]
}

/** Returns the fields of a refused rule in the form in which Kubernetes shows it. */
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
