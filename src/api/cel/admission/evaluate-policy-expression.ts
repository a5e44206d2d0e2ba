import type { Json } from '../../../model/api-object.ts'
import { type Access, AuthorizerValue, ResourceCheck } from '../library/authorizer.ts'
import { CostExceeded, CostMeter } from '../values/cost-meter.ts'
import { readUntyped } from '../values/untyped.ts'
import { CelError, MapValue, noSuchOverload, type Value } from '../values/values.ts'
import type { CompiledPolicyExpression, PolicyProgram } from './compile-policy-expression.ts'

/** The values of the variables. An absent object is null. */
export interface PolicyInput {
  readonly object: Json
  readonly oldObject: Json
  readonly params: Json
  readonly request: Json
  readonly namespaceObject: Json
  readonly access: Access
  /** The resource of the request, which `authorizer.requestResource` asks about. */
  readonly requestResource: ResourceCheck['question']
}

/** Ends the evaluation of a policy whose expressions cost too much together. */
export class OutOfBudget extends Error {
  constructor() {
    super('validation failed due to running out of cost budget, no further validation rules will be run')
  }
}

/** Evaluates the expressions of one policy for one request; the variables of the policy are evaluated once each. */
export class PolicyEvaluation {
  readonly #values: ReadonlyMap<string, Value>
  readonly #meter = new CostMeter()
  readonly #variables: LazyVariables
  #budget: number

  constructor(input: PolicyInput, variables: ReadonlyMap<string, CompiledPolicyExpression>, budget: number) {
    this.#budget = budget
    this.#variables = new LazyVariables(variables, (program, meter) => this.#step(program, meter))
    const { access, requestResource } = input
    const fields = ['object', 'oldObject', 'params', 'request', 'namespaceObject'] as const
    this.#values = new Map<string, Value>([
      ...fields.map((name) => [name, readUntyped(input[name])] as const),
      ['authorizer', new AuthorizerValue(access)],
      ['authorizer.requestResource', new ResourceCheck(access, requestResource)],
      ['variables', this.#variables],
    ])
  }

  get budget(): number {
    return this.#budget
  }

  /** Returns the value or the error of an expression. Throws OutOfBudget. */
  evaluate(program: PolicyProgram): Value {
    const value = this.#step(program, this.#meter)
    const spent = this.#meter.spent + this.#variables.takeCost()
    if (spent > this.#budget) throw new OutOfBudget()
    this.#budget -= spent
    return value
  }

  #step({ names, step }: PolicyProgram, meter: CostMeter): Value {
    meter.start()
    try {
      return step({ slots: names.map((name) => this.#values.get(name)), meter })
    } catch (thrown) {
      if (thrown instanceof CostExceeded) return new CelError(thrown.message)
      throw thrown
    }
  }
}

type Run = (program: PolicyProgram, meter: CostMeter) => Value

/** The variable `variables`: each is evaluated when it is first read. */
class LazyVariables extends MapValue {
  readonly #compiled: ReadonlyMap<string, CompiledPolicyExpression>
  readonly #known = new Map<string, Value>()
  readonly #run: Run
  #cost = 0

  constructor(compiled: ReadonlyMap<string, CompiledPolicyExpression>, run: Run) {
    super()
    this.#compiled = compiled
    this.#run = run
  }

  get size(): number {
    return this.#compiled.size
  }

  keys(): Iterable<Value> {
    return this.#compiled.keys()
  }

  find(key: Value): Value | undefined {
    if (typeof key !== 'string') return noSuchOverload
    const known = this.#known.get(key)
    if (known !== undefined) return known
    const compiled = this.#compiled.get(key)
    if (compiled === undefined) return undefined
    const value = this.#evaluate(key, compiled)
    this.#known.set(key, value)
    return value
  }

  /** Returns the cost of the variables that were evaluated since the last call. */
  takeCost(): number {
    const cost = this.#cost
    this.#cost = 0
    return cost
  }

  #evaluate(name: string, compiled: CompiledPolicyExpression): Value {
    const shown = JSON.stringify(name)
    if ('problem' in compiled) return new CelError(`composited variable ${shown} fails to compile: ${compiled.problem}`)
    const meter = new CostMeter()
    const value = this.#run(compiled.program, meter)
    this.#cost += meter.spent
    return value instanceof CelError
      ? new CelError(`composited variable ${shown} fails to evaluate: ${value.message}`)
      : value
  }
}
