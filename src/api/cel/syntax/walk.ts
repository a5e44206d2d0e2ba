import type { Expr } from './expr.ts'

/** Returns the direct parts of an expression. */
export function childrenOf(expr: Expr): readonly Expr[] {
  switch (expr.kind) {
    case 'select':
      return [expr.operand]
    case 'call':
      return expr.target === undefined ? expr.args : [expr.target, ...expr.args]
    case 'list':
      return expr.items.map(({ value }) => value)
    case 'map':
      return expr.entries.flatMap(({ key, value }) => [key, value])
    case 'fold':
      return [expr.range, expr.init, expr.condition, expr.step, expr.result]
    default:
      return []
  }
}

/** Returns every part of an expression once, no matter how often it is referenced. */
export function partsOf(root: Expr): readonly Expr[] {
  const parts = new Set<Expr>([root])
  for (const part of parts) for (const child of childrenOf(part)) parts.add(child)
  return [...parts]
}
