import { TimeSlice } from '../../loop/time-slice.ts'
import type { Json, JsonObject } from '../../model/api-object.ts'
import { isJsonObject } from '../document.ts'
import { oldField, oldItems, Sameness } from '../schema/correlate.ts'
import { duplicateField, type FieldError, forbiddenField, invalidField, requiredField } from '../schema/field-error.ts'
import { joinPath } from '../schema/map-json.ts'
import type { Schema } from '../schema/schema.ts'
import type { ValidationRule } from '../schema/validation-rule.ts'
import type { CelProgram } from './compile-expression.ts'
import { type CompiledRule, compileRules, type RuleNode } from './compile-rules.ts'
import { withObjectMeta } from './object-meta.ts'
import { CostExceeded, CostMeter } from './values/cost-meter.ts'
import { ValueReader } from './values/read-value.ts'
import { CelError, none, OptionalValue, type Value } from './values/values.ts'

/** The limit on the cost of all rules of one object, as in Kubernetes: about a second. */
const objectBudget = 10_000_000
const maxMessageLength = 5 * 1024
const outOfBudget = 'validation failed due to running out of cost budget, no further validation rules will be run'

/** Checks objects against the rules of a schema, which are compiled when they are first needed. */
export class RuleChecker {
  readonly #schema: Schema
  #compiled: RuleNode | undefined
  #isCompiled = false

  constructor(schema: Schema) {
    this.#schema = schema
  }

  /**
   * Returns the rules that an object violates. `old` is the object before an update. Transition rules are checked only
   * where an old value exists, other rules only for changed values. The work yields to other requests between two
   * rules.
   */
  async check(value: Json, old: Json | undefined): Promise<readonly FieldError[]> {
    if (!this.#isCompiled) this.#compiled = compileRules(this.#schema, () => true)
    this.#isCompiled = true
    if (this.#compiled === undefined) return []
    const run = new RuleRun(this.#compiled)
    const slice = new TimeSlice()
    const change = old === undefined ? undefined : { value, old }
    for (const _ of run.check(this.#compiled, value, { path: '', old, change })) if (slice.spent) await slice.pause()
    return run.errors
  }
}

/** A value, and its value before the update. */
interface Change {
  readonly value: Json
  readonly old: Json | undefined
}

/** The position of a value in its object. */
interface Place {
  readonly path: string
  /** The old value; undefined where it is unknown. */
  readonly old: Json | undefined
  /** The nearest enclosing value, or the value itself, whose old value is known. */
  readonly change: Change | undefined
}

class RuleRun {
  readonly errors: FieldError[] = []
  readonly #root: RuleNode
  readonly #sameness = new Sameness()
  readonly #meter = new CostMeter()
  readonly #reader = new ValueReader()
  #budget = objectBudget

  constructor(root: RuleNode) {
    this.#root = root
  }

  /** Yields after each rule, and ends when the cost budget is spent. */
  *check(node: RuleNode, value: Json, place: Place): Generator<void, void> {
    if (value === null || this.#budget < 0) return
    for (const compiled of node.rules) {
      this.#checkRule(node, compiled, value, place)
      if (this.#budget < 0) return
      yield
    }
    if (Array.isArray(value)) yield* this.#checkItems(node, value as readonly Json[], place)
    else if (isJsonObject(value)) yield* this.#checkMembers(node, value, place)
  }

  *#checkMembers(node: RuleNode, value: JsonObject, place: Place): Generator<void, void> {
    for (const [key, field] of Object.entries(value)) {
      const property = node.properties.get(key)
      const below = property ?? node.additionalProperties
      if (below === undefined || field === undefined) continue
      const path = property === undefined ? `${place.path}[${key}]` : joinPath(place.path, key)
      const old = oldField(place.old, key)
      const isRenamed = node === this.#root && (key === 'apiVersion' || key === 'kind')
      const change = isJsonObject(place.old) ? { value: field, old } : place.change
      yield* this.check(below, field, { path, old, change: isRenamed ? undefined : change })
    }
  }

  *#checkItems({ schema, items }: RuleNode, values: readonly Json[], place: Place): Generator<void, void> {
    if (items === undefined) return
    const oldItem = oldItems(schema, place.old)
    for (const [index, item] of values.entries()) {
      const old = oldItem(item)
      const change = old === undefined ? place.change : { value: item, old }
      yield* this.check(items, item, { path: `${place.path}[${index}]`, old, change })
    }
  }

  #checkRule(node: RuleNode, compiled: CompiledRule, value: Json, place: Place): void {
    const { rule, program } = compiled
    const fail = (why: string) => this.errors.push(invalidField(fieldOf(place.path), node.schema.type ?? '', why))
    if (this.#budget === 0) this.#end(fail, outOfBudget)
    else if (program === undefined) fail(`rule compile error: ${compiled.problem}`)
    else {
      const hasOld = place.old !== undefined && place.old !== null
      if (program.usesOldSelf && !hasOld && rule.optionalOldSelf !== true) return
      this.#evaluate(node, { ...compiled, program }, value, place, fail)
    }
  }

  #evaluate(
    node: RuleNode,
    compiled: CompiledRule & { readonly program: CelProgram },
    value: Json,
    place: Place,
    fail: (why: string) => void,
  ): void {
    const { rule, program, fieldPath } = compiled
    const self = this.#valueOf(node, value)
    const old = place.old === undefined || place.old === null ? undefined : this.#valueOf(node, place.old)
    const result = this.#run(program, self, rule.optionalOldSelf === true ? toOptional(old) : old)
    const shown = rule.message.trim() || rule.rule.trim()
    if (result === 'out of budget') this.#end(fail, outOfBudget)
    else if (result === 'too expensive') this.#end(fail, `'${tooExpensive}': ${noMore} rule: ${shown}`)
    else if (result instanceof CelError) fail(describeFailure(result.message, shown))
    else if (result !== true) {
      const error = this.#errorOf(node, compiled, self, old, `${place.path}${fieldPath}`)
      if (program.usesOldSelf || !this.#isKept(place.change)) this.errors.push(error)
    }
  }

  #end(fail: (why: string) => void, why: string): void {
    fail(why)
    this.#budget = -1
  }

  #run(program: CelProgram, self: Value, old: Value | undefined): Value | 'out of budget' | 'too expensive' {
    let result: Value | 'too expensive'
    try {
      result = program.evaluate(self, old, this.#meter)
    } catch (thrown) {
      if (!(thrown instanceof CostExceeded)) throw thrown
      result = 'too expensive'
    }
    if (this.#meter.spent > this.#budget) return 'out of budget'
    this.#budget -= this.#meter.spent
    return result
  }

  #valueOf(node: RuleNode, value: Json): Value {
    return this.#reader.read(value, node === this.#root ? withObjectMeta(node.schema) : node.schema)
  }

  /** Checks whether an error may stay because the update did not touch the value. */
  #isKept(change: Change | undefined): boolean {
    return change?.old !== undefined && this.#sameness.isSame(change.value, change.old)
  }

  #errorOf(node: RuleNode, compiled: CompiledRule, self: Value, old: Value | undefined, path: string): FieldError {
    const { rule, message } = compiled
    const fixed = rule.message === '' ? `failed rule: ${rule.rule.trim()}` : rule.message.trim()
    const given = (text: string) => errorOf(rule, fieldOf(path), node.schema, text)
    if (message === undefined) return given(fixed)
    // Kubernetes gives messages the unchanged old value where a rule of this schema reads it.
    const isOldKnown = node.rules.some(({ program }) => program?.usesOldSelf === true)
    const text = this.#run(message, self, isOldKnown ? old : undefined)
    if (text === 'out of budget' || text === 'too expensive') {
      this.#budget = -1
      const why =
        text === 'too expensive'
          ? `${noMore} messageExpression: ${JSON.stringify(rule.messageExpression)}`
          : 'messageExpression evaluation failed due to running out of cost budget, no further validation rules will be run'
      return invalidField(fieldOf(path), node.schema.type ?? '', why)
    }
    return given(messageIn(text) ?? fixed)
  }
}

const tooExpensive = 'operation cancelled: actual cost limit exceeded'
const noMore = 'no further validation rules will be run due to call cost exceeds limit for'

function toOptional(value: Value | undefined): Value {
  return value === undefined ? none : new OptionalValue(value)
}

/** Returns the text of a message; undefined where the result cannot be shown. */
function messageIn(value: Value): string | undefined {
  const text = typeof value === 'string' ? value.trim() : ''
  return text === '' || text.includes('\n') || Buffer.byteLength(text) > maxMessageLength ? undefined : text
}

function describeFailure(why: string, rule: string): string {
  const isOverload = why.startsWith('no such overload')
  if (!isOverload) return `${why} evaluating rule: ${rule}`
  return `'${why}': call arguments did not match a supported operator, function or macro signature for rule: ${rule}`
}

/** Returns the name of a field in errors; `<nil>` is the name of the whole object in Kubernetes. */
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
