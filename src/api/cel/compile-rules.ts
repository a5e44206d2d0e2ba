import type { Schema } from '../schema/schema.ts'
import type { ValidationRule } from '../schema/validation-rule.ts'
import { describeCompilation } from './compile-error.ts'
import { type CelProgram, RuleEnvironment } from './environment.ts'
import { normalizeFieldPath } from './field-path.ts'
import { type RuleType, SchemaTypes } from './schema-types.ts'

export interface CompiledRule {
  readonly rule: ValidationRule
  /** Undefined where the rule cannot be compiled: `problem` says why. */
  readonly program: CelProgram | undefined
  readonly problem: string | undefined
  readonly message: CelProgram | undefined
  readonly messageProblem: string | undefined
  /** What follows the value's path in errors. */
  readonly fieldPath: string
}

/** The rules of a schema and of what is below it; parts without rules are left out. */
export interface RuleNode {
  readonly schema: Schema
  readonly type: RuleType | undefined
  /** The variables of its rules are `self` and `oldSelf` with this behind. */
  readonly suffix: string
  readonly rules: readonly CompiledRule[]
  readonly properties: ReadonlyMap<string, RuleNode>
  readonly additionalProperties: RuleNode | undefined
  readonly items: RuleNode | undefined
}

/** Types of objects in one schema: more would take long to declare, and no known definition has a tenth of it. */
const maxObjectTypes = 5_000

/** A schema with its rules compiled; undefined where there are none. */
export function compileRules(
  schema: Schema,
): { readonly root: RuleNode; readonly environment: RuleEnvironment } | undefined {
  if (!holdsRules(schema)) return undefined
  const environment = new RuleEnvironment()
  const root = new RuleCompilation(environment).node(schema, true)
  return root === undefined ? undefined : { root, environment }
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

interface Compiled {
  readonly program?: CelProgram
  readonly problem?: string
}

class RuleCompilation {
  readonly #environment: RuleEnvironment
  readonly #types: SchemaTypes
  #count = 0

  constructor(environment: RuleEnvironment) {
    this.#environment = environment
    this.#types = new SchemaTypes(environment, maxObjectTypes)
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
    const suffix = `:${++this.#count}`
    if (validations.length === 0) return { type: undefined, suffix, rules: [] }
    const type = this.#types.typeOf(schema, isRoot || schema.embeddedResource === true)
    if (type !== undefined) this.#declareVariables(suffix, type)
    return { type, suffix, rules: validations.map((rule) => this.#rule(rule, schema, suffix, type)) }
  }

  #declareVariables(suffix: string, { name }: RuleType): void {
    this.#environment.declareVariable(`self${suffix}`, name)
    this.#environment.declareVariable(`oldSelf${suffix}`, name)
    this.#environment.declareVariable(`oldSelf${suffix}?`, `optional<${name}>`)
  }

  #rule(rule: ValidationRule, schema: Schema, suffix: string, type: RuleType | undefined): CompiledRule {
    const fieldPath = normalizeFieldPath(rule.fieldPath, schema) ?? ''
    const compile = (expression: string, wanted: string, what: string): Compiled => {
      if (type === undefined) return { problem: 'the schema has no type that rules can see' }
      try {
        const program = this.#environment.compile(expression, suffix, rule.optionalOldSelf === true)
        if (program.type === wanted || program.type === 'dyn') return { program }
        return {
          problem: wanted === 'bool' ? 'cel expression must evaluate to a bool' : `${what} must evaluate to a string`,
        }
      } catch (thrown) {
        return {
          problem: `${what === 'rule' ? '' : `${what} `}compilation failed: ${describeCompilation(thrown, expression)}`,
        }
      }
    }
    const main = compile(rule.rule, 'bool', 'rule')
    const message: Compiled =
      rule.messageExpression === '' ? {} : compile(rule.messageExpression, 'string', 'messageExpression')
    return {
      rule,
      fieldPath,
      program: main.program,
      problem: main.problem,
      message: message.program,
      messageProblem: message.problem,
    }
  }
}
