import type { Expr } from './expr.ts'

/** What stands directly in an expression. */
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

/** Every part of an expression once, whatever names it. */
export function partsOf(root: Expr): readonly Expr[] {
  const parts = new Set<Expr>([root])
  for (const part of parts) for (const child of childrenOf(part)) parts.add(child)
  return [...parts]
}
