import { Optional } from '@marcbachmann/cel-js'
import { TimeSlice } from '../../loop/time-slice.ts'
import type { Json, JsonObject } from '../../model/api-object.ts'
import { isJsonObject } from '../document.ts'
import { oldField, oldItems, Sameness } from '../schema/correlate.ts'
import { duplicateField, type FieldError, forbiddenField, invalidField, requiredField } from '../schema/field-error.ts'
import { joinPath } from '../schema/map-json.ts'
import type { Schema } from '../schema/schema.ts'
import type { ValidationRule } from '../schema/validation-rule.ts'
import { describeEvaluation } from './compile-error.ts'
import { type CompiledRule, compileRules, type RuleNode } from './compile-rules.ts'
import type { RuleEnvironment } from './environment.ts'
import type { ReadValues } from './schema-types.ts'

/** What the rules of one object may cost together, as Kubernetes: about a second. */
const objectBudget = 10_000_000
const maxMessageLength = 5 * 1024
const outOfBudget = 'validation failed due to running out of cost budget, no further validation rules will be run'

/** Checks objects against the rules of a schema, which are compiled when they are first needed. */
export class RuleChecker {
  readonly #schema: Schema
  #compiled: ReturnType<typeof compileRules>
  #isCompiled = false

  constructor(schema: Schema) {
    this.#schema = schema
  }

  /**
   * The rules that do not hold for an object. On an update `old` is what it was: rules that compare with it count only where there is such a
   * value, others only for values that changed. In slices: other requests get their turn between two rules.
   */
  async check(value: Json, old: Json | undefined): Promise<readonly FieldError[]> {
    if (!this.#isCompiled) this.#compiled = compileRules(this.#schema)
    this.#isCompiled = true
    if (this.#compiled === undefined) return []
    const run = new RuleRun(this.#compiled.environment)
    const slice = new TimeSlice()
    for (const _ of run.check(this.#compiled.root, value, old, '')) if (slice.spent) await slice.pause()
    return run.errors
  }
}

class RuleRun {
  readonly errors: FieldError[] = []
  readonly #environment: RuleEnvironment
  readonly #sameness = new Sameness()
  readonly #known: ReadValues = new WeakMap()
  #budget = objectBudget

  constructor(environment: RuleEnvironment) {
    this.#environment = environment
  }

  /** Stops after each rule, and ends where the budget does. */
  *check(node: RuleNode, value: Json, old: Json | undefined, path: string): Generator<void, void> {
    if (value === null || this.#budget < 0) return
    for (const compiled of node.rules) {
      this.#checkRule(node, compiled, value, old, path)
      if (this.#budget < 0) return
      yield
    }
    if (Array.isArray(value)) yield* this.#checkItems(node, value as readonly Json[], old, path)
    else if (isJsonObject(value)) yield* this.#checkMembers(node, value, old, path)
  }

  *#checkMembers(node: RuleNode, value: JsonObject, old: Json | undefined, path: string): Generator<void, void> {
    for (const [key, field] of Object.entries(value)) {
      const property = node.properties.get(key)
      const below = property ?? node.additionalProperties
      const where = property === undefined ? `${path}[${key}]` : joinPath(path, key)
      if (below !== undefined && field !== undefined) yield* this.check(below, field, oldField(old, key), where)
    }
  }

  *#checkItems(
    { schema, items }: RuleNode,
    values: readonly Json[],
    old: Json | undefined,
    path: string,
  ): Generator<void, void> {
    if (items === undefined) return
    const oldItem = oldItems(schema, old)
    for (const [index, item] of values.entries()) yield* this.check(items, item, oldItem(item), `${path}[${index}]`)
  }

  #checkRule(node: RuleNode, compiled: CompiledRule, value: Json, old: Json | undefined, path: string): void {
    const { rule, program } = compiled
    const fail = (why: string) => this.errors.push(invalidField(fieldOf(path), node.schema.type ?? '', why))
    if (program === undefined) {
      fail(`rule compile error: ${compiled.problem}`)
      return
    }
    const hasOld = old !== undefined && old !== null
    if (program.usesOldSelf && !hasOld && rule.optionalOldSelf !== true) return
    try {
      const variables = this.#variables(node, rule, value, hasOld ? old : undefined)
      const result = program.evaluate(variables, this.#budget)
      this.#pay()
      const isRatcheted = !program.usesOldSelf && hasOld && this.#sameness.isSame(value, old)
      if (result === true || isRatcheted) return
      const where = fieldOf(`${path}${compiled.fieldPath}`)
      this.errors.push(errorOf(rule, where, node.schema, this.#messageOf(compiled, variables)))
    } catch (thrown) {
      this.#fail(thrown, rule, fail)
    }
  }

  #fail(thrown: unknown, { rule, message }: ValidationRule, fail: (why: string) => void): void {
    const shown = message.trim() || rule.trim()
    const isExceeded = this.#environment.meter.isExceeded
    this.#pay()
    if (!isExceeded) fail(describeFailure(describeEvaluation(thrown), shown))
    else if (this.#budget < 0) fail(outOfBudget)
    else {
      fail(
        `'${describeEvaluation(thrown)}': no further validation rules will be run due to call cost exceeds limit for rule: ${shown}`,
      )
      this.#budget = -1
    }
  }

  #pay(): void {
    this.#budget -= this.#environment.meter.spent
  }

  #variables({ type, suffix }: RuleNode, rule: ValidationRule, value: Json, old: Json | undefined) {
    const previous = old === undefined ? undefined : type?.read(old, this.#known)
    const oldSelf =
      rule.optionalOldSelf === true
        ? { [`oldSelf${suffix}?`]: Optional.of(previous) }
        : { [`oldSelf${suffix}`]: previous }
    return { [`self${suffix}`]: type?.read(value, this.#known), ...oldSelf }
  }

  /** The message of the rule where its expression fails, or makes no message that can be shown. */
  #messageOf({ rule, message }: CompiledRule, variables: Readonly<Record<string, unknown>>): string {
    const fixed = rule.message.trim() || `failed rule: ${rule.rule.trim()}`
    if (message === undefined) return fixed
    try {
      const text = message.evaluate(variables, this.#budget)
      this.#pay()
      const isShown =
        typeof text === 'string' && text.trim() !== '' && !text.includes('\n') && text.length <= maxMessageLength
      return isShown ? text.trim() : fixed
    } catch {
      this.#pay()
      return fixed
    }
  }
}

function describeFailure(why: string, rule: string): string {
  const isOverload = why === 'no such overload'
  if (!isOverload) return `${why} evaluating rule: ${rule}`
  return `'${why}': call arguments did not match a supported operator, function or macro signature for rule: ${rule}`
}

/** As Kubernetes names the whole object. */
function fieldOf(path: string): string {
  return path === '' ? '<nil>' : path.replace(/^\./, '')
}

function errorOf({ reason }: ValidationRule, path: string, schema: Schema, message: string): FieldError {
  const type = schema.type ?? ''
  switch (reason) {
    case 'FieldValueForbidden':
      return forbiddenField(path, message)
    case 'FieldValueRequired':
      return requiredField(path, message)
    case 'FieldValueDuplicate':
      return duplicateField(path, type)
    default:
      return invalidField(path, type, message)
  }
}
