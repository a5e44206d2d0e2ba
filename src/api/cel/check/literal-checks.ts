import { patternProblem } from '../library/patterns.ts'
import type { CallExpr, Expr } from '../syntax/expr.ts'
import type { Problem } from '../syntax/source.ts'
import { childrenOf, partsOf } from '../syntax/walk.ts'
import { parseDuration, parseTimestamp } from '../values/times.ts'
import { isOptional, unwrapOptional } from '../values/types.ts'
import type { Literal } from '../values/values.ts'
import type { CheckedExpr } from './checker.ts'
import { formatProblems } from './format-checks.ts'

/** Returns the errors in literals of a rule with correct types: Kubernetes refuses them when the rule is created. */
export function checkLiterals(checked: CheckedExpr): readonly Problem[] {
  const parts = partsOf(checked.root)
  const calls = parts.filter((part) => part.kind === 'call')
  return [
    ...Object.entries(argumentChecks).flatMap(([name, check]) =>
      calls.flatMap((call) => wrongArgument(call, name, check)),
    ),
    ...new AggregateCheck(checked).check(checked.root),
    ...calls.flatMap((call) => formatProblems(call, checked)),
  ]
}

const argumentChecks: Readonly<Record<string, (value: Literal) => boolean>> = {
  duration: (value) => typeof value !== 'string' || parseDuration(value) !== undefined,
  timestamp: (value) => typeof value !== 'string' || parseTimestamp(value) !== undefined,
  matches: (value) => typeof value === 'string' && patternProblem(value) === undefined,
}

function wrongArgument({ name, args: [arg] }: CallExpr, wanted: string, isRight: (value: Literal) => boolean) {
  if (name !== wanted || arg?.kind !== 'literal' || isRight(arg.value)) return []
  return [{ offset: arg.offset, text: `invalid ${name} argument` }]
}

/**
 * Checks that the items of a list, and the keys and values of a map, have one type each. Operands of `format` may
 * differ.
 */
class AggregateCheck {
  readonly #checked: CheckedExpr
  readonly #problems: Problem[] = []
  readonly #seen = new Set<Expr>()

  constructor(checked: CheckedExpr) {
    this.#checked = checked
  }

  check(root: Expr): readonly Problem[] {
    this.#visit(root, false)
    return this.#problems
  }

  #visit(expr: Expr, isExempt: boolean): void {
    if (this.#seen.has(expr)) return
    this.#seen.add(expr)
    if (expr.kind === 'list' && !isExempt) this.#compare(expr.items)
    if (expr.kind === 'map' && !isExempt) {
      this.#compare(expr.entries.map(({ key }) => ({ value: key, isOptional: false })))
      this.#compare(expr.entries)
    }
    const isStructure = expr.kind === 'list' || expr.kind === 'map'
    const isBelowExempt = isStructure ? isExempt : expr.kind === 'call' && expr.name === 'format'
    for (const child of childrenOf(expr)) this.#visit(child, isBelowExempt)
  }

  #compare(items: readonly { readonly value: Expr; readonly isOptional: boolean }[]): void {
    const typed = items.map(({ value, isOptional: isAsked }) => {
      const type = this.#checked.typeOf(value)
      return { value, type: isAsked && isOptional(type) ? unwrapOptional(type) : type }
    })
    const [first] = typed
    for (const { value, type } of typed) {
      if (first === undefined || type.equals(first.type)) continue
      this.#problems.push({ offset: value.offset, text: `expected type '${first.type}' but found '${type}'` })
    }
  }
}
