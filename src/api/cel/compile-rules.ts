import type { Schema } from '../schema/schema.ts'
import type { ValidationRule } from '../schema/validation-rule.ts'
import { type CelProgram, type Compiled, compileExpression, type ExpressionScope } from './compile-expression.ts'
import { normalizeFieldPath } from './field-path.ts'
import { maxCardinality, type SchemaType, SchemaTypes } from './schema-types.ts'
import { types } from './values/types.ts'

export interface CompiledRule {
  readonly rule: ValidationRule
  /** The compiled rule; undefined where compilation fails: `problem` says why. */
  readonly program: CelProgram | undefined
  readonly problem: string | undefined
  readonly message: CelProgram | undefined
  readonly messageProblem: string | undefined
  /** The text that follows the path of the value in errors. */
  readonly fieldPath: string
}

/** The rules of a schema and of the schemas below it; parts without rules are left out. */
export interface RuleNode {
  readonly schema: Schema
  /** Undefined for a schema that declares too little for rules. */
  readonly type: SchemaType | undefined
  /** The largest number of its values in one object, where no list or map around them has a limit. */
  readonly maxCardinality: number
  readonly rules: readonly CompiledRule[]
  readonly properties: ReadonlyMap<string, RuleNode>
  readonly additionalProperties: RuleNode | undefined
  readonly items: RuleNode | undefined
}

/** Checks whether a rule is stored already: it may then use functions that Kubernetes accepts in stored rules only. */
export type IsStored = (expression: string) => boolean

/** Compiles the rules of a schema; returns undefined where it has none. */
export function compileRules(schema: Schema, isStored: IsStored): RuleNode | undefined {
  return holdsRules(schema) ? new RuleCompilation(isStored).node(schema, true) : undefined
}

export function holdsRules(schema: Schema): boolean {
  const { properties = {}, additionalProperties, items, validations = [] } = schema
  return (
    validations.length > 0 ||
    Object.values(properties).some(holdsRules) ||
    (additionalProperties !== undefined && holdsRules(additionalProperties)) ||
    (items !== undefined && holdsRules(items))
  )
}

class RuleCompilation {
  readonly #types = new SchemaTypes()
  readonly #isStored: IsStored
  #count = 0

  constructor(isStored: IsStored) {
    this.#isStored = isStored
  }

  node(schema: Schema, isRoot = false): RuleNode | undefined {
    const { additionalProperties, items, validations = [] } = schema
    const properties = new Map(
      Object.entries(schema.properties ?? {}).flatMap(([key, each]) => {
        const node = this.node(each)
        return node === undefined ? [] : [[key, node] as const]
      }),
    )
    const below = {
      properties,
      additionalProperties: additionalProperties && this.node(additionalProperties),
      items: items && this.node(items),
    }
    const isEmpty = properties.size === 0 && below.additionalProperties === undefined && below.items === undefined
    if (isEmpty && validations.length === 0) return undefined
    return { schema, ...below, ...this.#compile(schema, validations, isRoot) }
  }

  #compile(schema: Schema, validations: readonly ValidationRule[], isRoot: boolean) {
    const type =
      validations.length === 0 ? undefined : this.#types.typeOf(schema, isRoot || schema.embeddedResource === true)
    const rules = validations.map((rule) => this.#rule(rule, schema, type))
    return { type, maxCardinality: type === undefined ? 0 : maxCardinality(type), rules }
  }

  #rule(rule: ValidationRule, schema: Schema, type: SchemaType | undefined): CompiledRule {
    const fieldPath = normalizeFieldPath(rule.fieldPath, schema) ?? ''
    const none = { program: undefined, problem: undefined, message: undefined, messageProblem: undefined }
    if (type === undefined) {
      return { rule, fieldPath, ...none, problem: 'failed to convert to declType for CEL validation rules' }
    }
    const scope = { self: type, selfType: type.typeNamed(`selfType${++this.#count}`) }
    const compile = (expression: string): Compiled => {
      const functions = this.#isStored(expression) ? 'stored' : 'new'
      const full: ExpressionScope = { ...scope, isOldOptional: rule.optionalOldSelf === true, functions }
      return compileExpression(expression, full)
    }
    const main = ofType(compile(rule.rule), types.bool.name, 'cel expression must evaluate to a bool')
    if (!('program' in main)) return { rule, fieldPath, ...none, problem: main.problem }
    if (rule.messageExpression === '') return { rule, fieldPath, ...none, program: main.program }
    const message = ofType(compile(rule.messageExpression), types.string.name, 'must evaluate to a string')
    if ('program' in message) return { rule, fieldPath, ...none, program: main.program, message: message.program }
    return {
      rule,
      fieldPath: '',
      ...none,
      program: main.program,
      messageProblem: `messageExpression ${message.problem.replace(/^program /, '')}`,
    }
  }
}

function ofType(compiled: Compiled, type: string, otherwise: string): Compiled {
  return 'problem' in compiled || compiled.program.type.name === type ? compiled : { problem: otherwise }
}
