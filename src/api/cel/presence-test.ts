import { Optional } from '@marcbachmann/cel-js'
import { type CelNode, nodesOf } from './ast.ts'
import { CelFailure } from './library/failure.ts'

interface Checker {
  check(node: unknown, context: unknown): unknown
  getType(name: string): unknown
}

interface Evaluator {
  run(node: unknown, context: unknown): unknown
}

interface HasMacro {
  readonly args: readonly CelNode[]
  typeCheck: (checker: Checker, macro: unknown, context: unknown) => unknown
  evaluate: (evaluator: Evaluator, macro: unknown, context: unknown) => unknown
}

/**
 * `has` as cel-go has it, in place of the library's: of a field of anything, as in `has(self.list[0].name)`, and an error for a field that there
 * cannot be. To be called before the type check.
 */
export function replacePresenceTests(root: unknown): void {
  for (const { op, args, meta } of nodesOf(root)) {
    if (op !== 'call' || (args as readonly unknown[])[0] !== 'has' || meta.macro === undefined) continue
    const macro = meta.macro as unknown as HasMacro
    const [operand, name] = fieldOf(macro.args)
    macro.typeCheck = (checker, _macro, context) => {
      checker.check(macro.args[0], context)
      return checker.getType('bool')
    }
    macro.evaluate = (evaluator, _macro, context) => isPresent(evaluator.run(operand, context), name)
  }
}

function fieldOf([field]: readonly CelNode[]): readonly [operand: unknown, name: string] {
  const [operand, name] = field?.op === '.' ? (field.args as readonly unknown[]) : []
  if (typeof name !== 'string') throw new CelFailure('invalid argument to has() macro')
  return [operand, name]
}

function isPresent(value: unknown, name: string): boolean {
  if (value instanceof Map) return value.has(name)
  if (value instanceof Optional) return value.hasValue() && isPresent(value.value(), name)
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return Object.hasOwn(value, name)
  throw new CelFailure('no such overload')
}
