import type { WorkMeter } from '../values/cost-meter.ts'
import { type CelType, parseType, splitTypes } from '../values/types.ts'
import type { Value } from '../values/values.ts'

/** The implementation of a function. The meter follows the operands. It returns a CelError where it fails. */
type Run = (...operands: never[]) => Value

/** A signature, `string.startsWith(string): bool`, and its implementation; the receiver is the first operand. */
export type CelFunction = readonly [signature: string, run: Run]

type CallRun = (...operands: readonly (Value | WorkMeter)[]) => Value

/** One overload of a function. */
export interface Overload {
  /** The declared signature: costs depend on it. */
  readonly signature: string
  readonly isMember: boolean
  /** The types of the parameters; the receiver of a member comes first. */
  readonly params: readonly CelType[]
  readonly result: CelType
  /** The names of its type parameters. */
  readonly typeParams: readonly string[]
  readonly run: CallRun
}

export interface FunctionDeclaration {
  readonly name: string
  readonly overloads: readonly Overload[]
  /** The implementation of all overloads, for operands whose types are known only at run time. */
  readonly shared: CallRun | undefined
}

/** Several overloads of one function or operator that share an implementation. */
export interface SharedFunction {
  readonly name: string
  readonly run: Run
  /** The signatures without the name: `(int, int): int`, for a member `list(A).(): int`. */
  readonly forms: readonly string[]
}

/** Returns the functions by name, each with its overloads in the order in which they are tried. */
export function declareFunctions(
  functions: readonly CelFunction[],
  shared: readonly SharedFunction[],
): ReadonlyMap<string, FunctionDeclaration> {
  const declared = new Map<string, FunctionDeclaration>()
  const add = (signature: string, run: Run, isShared: boolean) => {
    const { name, overload } = readSignature(signature, run)
    const overloads = [...(declared.get(name)?.overloads ?? []), overload]
    declared.set(name, { name, overloads, shared: isShared ? overload.run : undefined })
  }
  for (const { name, run, forms } of shared) {
    for (const form of forms) add(form.replace(/^(.+\.)?\(/, `$1${name.replaceAll('$', '$$$$')}(`), run, true)
  }
  for (const [signature, run] of functions) add(signature, run, false)
  return declared
}

function readSignature(signature: string, run: Run): { readonly name: string; readonly overload: Overload } {
  const open = openOfParameters(signature)
  const { receiver, name } = splitName(signature.slice(0, open))
  const close = signature.lastIndexOf('): ')
  const params = splitTypes(signature.slice(open + 1, close)).map(parseType)
  const result = parseType(signature.slice(close + 3))
  const all = receiver === undefined ? params : [receiver, ...params]
  const typeParams = [...new Set([...all, result].flatMap(parametersOf))]
  const isMember = receiver !== undefined
  return { name, overload: { signature, isMember, params: all, result, typeParams, run: run as unknown as CallRun } }
}

/** Returns the index of the function's parenthesis, which is not one of its receiver: `list(A).indexOf(A)`. */
function openOfParameters(signature: string): number {
  let depth = 0
  const close = signature.lastIndexOf('): ')
  for (let index = close; index >= 0; index--) {
    if (signature[index] === ')') depth++
    if (signature[index] === '(' && --depth === 0) return index
  }
  throw new Error(`no signature: ${signature}`)
}

/** Splits a name at its last dot. The first part is the receiver if it is a type, else part of the name: `sets.contains`. */
function splitName(text: string): { readonly receiver: CelType | undefined; readonly name: string } {
  const dot = text.lastIndexOf('.')
  if (dot <= 0 || text.startsWith('_')) return { receiver: undefined, name: text }
  try {
    return { receiver: parseType(text.slice(0, dot)), name: text.slice(dot + 1) }
  } catch {
    return { receiver: undefined, name: text }
  }
}

function parametersOf(type: CelType): readonly string[] {
  return type.kind === 'param' ? [type.name] : type.parameters.flatMap(parametersOf)
}
