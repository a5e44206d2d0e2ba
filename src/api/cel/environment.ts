import { Environment } from '@marcbachmann/cel-js'
import { type CelNode, nodesOf } from './ast.ts'
import { isEqual } from './equality.ts'
import { checkTyped } from './extra-checks.ts'
import { countCosts } from './instrument.ts'
import { addressFunctions, CidrValue, IpValue } from './library/addresses.ts'
import { FormatValue, formatFunctions } from './library/formats.ts'
import { listFunctions } from './library/lists.ts'
import { type MacroCall, macros } from './library/macros.ts'
import { patternFunctions } from './library/patterns.ts'
import { QuantityValue, quantityFunctions } from './library/quantities.ts'
import { textFunctions } from './library/texts.ts'
import { timeFunctions } from './library/times.ts'
import { UrlValue, urlFunctions } from './library/urls.ts'
import { SemverValue, versionFunctions } from './library/versions.ts'
import { CostMeter, perCallLimit } from './meter.ts'
import { replacePresenceTests } from './presence-test.ts'

/** A signature as the library reads it, `string.find(string): string`, and what it does; the receiver is the first operand. */
export type CelFunction = readonly [signature: string, handler: (...operands: never[]) => unknown]

/** Answers what checks and evaluates a call, in the library's form. */
export type CelMacro = (call: MacroCall) => object

/** A type of objects; its values are made by `ctor`, a Map by the escaped names of the fields. */
export interface CelObjectType {
  readonly name: string
  readonly ctor: new () => Map<string, unknown>
  /** Types by name. */
  readonly fields: Readonly<Record<string, string>>
}

/** An expression that has been checked. */
export interface CelProgram {
  /** The name of its type: `bool`, `string`. */
  readonly type: string
  readonly usesOldSelf: boolean
  /** Throws an Error in the words of Kubernetes. Costs are counted on the environment's meter. */
  readonly evaluate: (variables: Readonly<Record<string, unknown>>, costLimit: number) => unknown
}

const valueTypes = {
  'net.IP': IpValue,
  'net.CIDR': CidrValue,
  'kubernetes.URL': UrlValue,
  'kubernetes.Quantity': QuantityValue,
  'kubernetes.Semver': SemverValue,
  'kubernetes.Format': FormatValue,
}
/** Functions that stand below a name: `sets.contains`. */
const namespaces = {
  sets: 'SetsNamespace',
  lists: 'ListsNamespace',
  strings: 'StringsNamespace',
  format: 'FormatNamespace',
  ip: 'IpNamespace',
}
/** Functions of the library that are too lenient or too slow, and what is called in their place. */
const replaced: Readonly<Record<string, string>> = {
  matches: 'matchesRe2',
  duration: 'durationOf',
  timestamp: 'timestampOf',
}

/** Deeper expressions are refused: parsing and evaluation recurse. */
const limits = {
  maxDepth: 200,
  maxAstNodes: 20_000,
  maxListElements: 10_000,
  maxMapEntries: 10_000,
  maxCallArguments: 32,
}

/**
 * What rules are written in: CEL with the functions that Kubernetes 1.34 gives to `x-kubernetes-validations`. Variables have types, and
 * are declared before expressions that name them are compiled.
 */
export class RuleEnvironment {
  readonly meter = new CostMeter()
  readonly #environment = new Environment({ enableOptionalTypes: true, homogeneousAggregateLiterals: false, limits })

  constructor() {
    for (const [name, ctor] of Object.entries(valueTypes)) {
      this.#environment.registerType(name, ctor)
      this.#environment.registerOperator(`${name} == ${name}`, isEqual)
    }
    for (const [name, type] of Object.entries(namespaces)) this.#addNamespace(name, type)
    for (const [signature, handler] of functions(this.meter)) {
      this.#environment.registerFunction(signature, handler as (...operands: unknown[]) => unknown, { async: false })
    }
    for (const [signature, macro] of macros)
      this.#environment.registerFunction(signature, macro as (...operands: unknown[]) => unknown)
  }

  declareType({ name, ctor, fields }: CelObjectType): void {
    this.#environment.registerType(name, { ctor, fields: { ...fields } })
    this.#environment.registerOperator(`${name} == ${name}`, isEqual)
  }

  declareVariable(name: string, type: string): void {
    this.#environment.registerVariable(name, type)
  }

  /** `self` and `oldSelf` stand for the variables with that suffix, `oldSelf` for the one with a `?` behind where it is optional. Throws an Error that says what is wrong. */
  compile(expression: string, suffix: string, isOldOptional: boolean): CelProgram {
    const parsed = this.#environment.parse(expression)
    let usesOldSelf = false
    for (const node of nodesOf(parsed.ast)) {
      usesOldSelf ||= node.op === 'id' && node.args === 'oldSelf'
      rename(node, suffix, isOldOptional)
    }
    replacePresenceTests(parsed.ast)
    const { valid, type = '', error } = parsed.check()
    if (!valid) throw error ?? new Error('the expression cannot be checked')
    checkTyped(parsed.ast)
    countCosts(parsed.ast, this.meter)
    const evaluate: CelProgram['evaluate'] = (variables, costLimit) => {
      this.meter.start(Math.min(perCallLimit, costLimit))
      const value = parsed(variables)
      this.meter.spend(0)
      return value
    }
    return { type: String(type), usesOldSelf, evaluate }
  }

  #addNamespace(name: string, type: string): void {
    const namespace = class {}
    this.#environment.registerType(type, namespace)
    this.#environment.registerConstant(name, type, new namespace())
  }
}

function functions(meter: CostMeter): readonly CelFunction[] {
  return [
    ...patternFunctions(meter),
    ...textFunctions,
    ...listFunctions(meter),
    ...addressFunctions,
    ...quantityFunctions,
    ...versionFunctions,
    ...urlFunctions,
    ...formatFunctions,
    ...timeFunctions,
  ]
}

function rename(node: CelNode, suffix: string, isOldOptional: boolean): void {
  if (node.op === 'id' && node.args === 'self') node.args = `self${suffix}`
  if (node.op === 'id' && node.args === 'oldSelf') node.args = `oldSelf${suffix}${isOldOptional ? '?' : ''}`
  if (node.op !== 'call' && node.op !== 'rcall') return
  const parts = node.args as unknown[]
  const [name] = parts
  if (typeof name === 'string' && Object.hasOwn(replaced, name)) parts[0] = replaced[name]
}
