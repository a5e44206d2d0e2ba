import type { Literal } from '../values/values.ts'

/** The position of an expression in errors of Kubernetes: that of its operator or opening bracket. */
interface Placed {
  readonly offset: number
}

export interface LiteralExpr extends Placed {
  readonly kind: 'literal'
  readonly value: Literal
}

export interface IdentExpr extends Placed {
  readonly kind: 'ident'
  readonly name: string
}

export interface SelectExpr extends Placed {
  readonly kind: 'select'
  readonly operand: Expr
  readonly field: string
  /** True for `has(operand.field)`. */
  readonly isTest: boolean
}

/** A call. Operators are calls too: `_+_`, `_[_]`, `_?_:_`. */
export interface CallExpr extends Placed {
  readonly kind: 'call'
  readonly name: string
  readonly target: Expr | undefined
  readonly args: readonly Expr[]
}

export interface ListExpr extends Placed {
  readonly kind: 'list'
  readonly items: readonly ListItem[]
}

/** An item of a list. An optional item, `[?a]`, is left out where it has no value. */
export interface ListItem {
  readonly value: Expr
  readonly isOptional: boolean
}

export interface MapExpr extends Placed {
  readonly kind: 'map'
  readonly entries: readonly MapEntry[]
}

export interface MapEntry extends ListItem {
  readonly key: Expr
}

/**
 * A loop, into which macros expand: `accuVar` starts as `init`, and becomes `step` for each item of the range while
 * `condition` holds.
 */
export interface FoldExpr extends Placed {
  readonly kind: 'fold'
  readonly range: Expr
  readonly iterVar: string
  /** The second variable. Where it is present it is the item or value, and the first one the index or key. */
  readonly iterVar2: string | undefined
  readonly accuVar: string
  readonly init: Expr
  readonly condition: Expr
  readonly step: Expr
  readonly result: Expr
}

/** A message literal `Type{field: value}`; no type of the environment can be made by one. */
interface StructExpr extends Placed {
  readonly kind: 'struct'
  readonly name: string
}

export type Expr = LiteralExpr | IdentExpr | SelectExpr | CallExpr | ListExpr | MapExpr | FoldExpr | StructExpr

export function literal(offset: number, value: Literal): LiteralExpr {
  return { kind: 'literal', offset, value }
}

export function ident(offset: number, name: string): IdentExpr {
  return { kind: 'ident', offset, name }
}

export function call(offset: number, name: string, ...args: readonly Expr[]): CallExpr {
  return { kind: 'call', offset, name, target: undefined, args }
}

/** Returns `a.b.c` as one name; undefined for an expression that is not only names. */
export function qualifiedName(expr: Expr): string | undefined {
  if (expr.kind === 'ident') return expr.name
  if (expr.kind !== 'select' || expr.isTest) return undefined
  const operand = qualifiedName(expr.operand)
  return operand === undefined ? undefined : `${operand}.${expr.field}`
}
