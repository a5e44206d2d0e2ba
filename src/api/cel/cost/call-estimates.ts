import type { Expr } from '../syntax/expr.ts'
import type { CelType } from '../values/types.ts'
import { add, clamp, exactly, multiply, one, type Range, scale, unknown } from './range.ts'

/** An operand of a call: `size` is undefined where nothing is known of it. */
export interface Operand {
  readonly expr: Expr
  readonly type: CelType
  readonly size: Range | undefined
  /** Returns the size of the items of a list, from the schema. */
  readonly sizeOfItems: () => Range | undefined
}

/** The estimate for a call, without the costs of its operands. */
export interface CallEstimate {
  readonly cost: Range
  readonly size?: Range | undefined
}

type Estimate = (target: Operand | undefined, args: readonly Operand[]) => CallEstimate | undefined

const perCharacter = 0.1
const perPatternCharacter = 0.25
const addressBytes: Range = { min: 4, max: 16 }

function sizeOf(operand: Operand | undefined): Range {
  return operand?.size ?? unknown
}

/** Returns the estimate for visiting the receiver once or several times. */
function throughTarget(times: number, size: (target: Range) => Range | undefined): Estimate {
  return (target) => {
    if (target === undefined) return undefined
    return { cost: scale(sizeOf(target), times * perCharacter), size: size(sizeOf(target)) }
  }
}

function throughFirst(times = 1): Estimate {
  return (_, [first]) => ({ cost: scale(sizeOf(first), times * perCharacter) })
}

const constant: Estimate = () => ({ cost: one })

/** The estimate for a comparison with each item of a list, or for a search in a text. */
const throughItems: Estimate = (target) => {
  if (target === undefined) return undefined
  const [item] = target.type.parameters
  if (item === undefined) return { cost: scale(sizeOf(target), perCharacter) }
  const isText = item.kind === 'string' || item.kind === 'bytes'
  const each = isText ? add(one, scale(target.sizeOfItems() ?? unknown, perCharacter)) : one
  return { cost: multiply(sizeOf(target), each) }
}

const replacement: Estimate = (target, [old, next]) => {
  if (target === undefined || next === undefined) return undefined
  const [text, found, put] = [sizeOf(target), sizeOf(old), sizeOf(next)]
  const most = mostReplaced(text.max, found.min, put.max)
  const least = leastReplaced(text.min, found.max, put.min)
  const count = { min: least.count, max: most.count }
  const size = add(multiply(count, put), { min: least.kept, max: most.kept })
  return { cost: scale(text, 2 * perCharacter), size }
}

interface Replaced {
  readonly count: number
  readonly kept: number
}

/** Estimates a replacement. An empty text is found around every character. */
function mostReplaced(length: number, found: number, put: number): Replaced {
  if (found === 0) return { count: clamp(length + 1), kept: length }
  return put <= found ? { count: 0, kept: length } : { count: Math.ceil(length / found), kept: 0 }
}

function leastReplaced(length: number, found: number, put: number): Replaced {
  if (found === 0) return { count: clamp(length + 1), kept: length }
  return found <= put ? { count: 0, kept: length } : { count: Math.ceil(length / found), kept: 0 }
}

const split: Estimate = (target, [, limit]) => {
  if (target === undefined) return undefined
  const count = literalInteger(limit)
  // A limit below 0 counts as a very large one.
  const max = count === undefined ? sizeOf(target).max : count < 0 ? unknown.max : count
  return { cost: scale(sizeOf(target), 2 * perCharacter), size: { min: 0, max } }
}

function literalInteger(operand: Operand | undefined): number | undefined {
  const value = operand?.expr.kind === 'literal' ? operand.expr.value : undefined
  return typeof value === 'bigint' ? Number(value) : undefined
}

const join: Estimate = (target, [separator]) => {
  if (target === undefined) return undefined
  const items = sizeOf(target)
  const texts = multiply(items, target.sizeOfItems() ?? unknown)
  const gaps = { min: Math.max(0, items.min - 1), max: Math.max(0, items.max - 1) }
  const size = separator === undefined ? texts : add(texts, multiply(sizeOf(separator), gaps))
  return { cost: scale(size, perCharacter), size }
}

function searchCost(text: Range, pattern: Range): Range {
  return multiply(scale(add(text, one), perCharacter), scale(pattern, perPatternCharacter))
}

const find: Estimate = (target, [pattern]) => {
  if (target === undefined || pattern === undefined) return undefined
  const text = sizeOf(target)
  return { cost: searchCost(text, sizeOf(pattern)), size: { min: 0, max: text.max } }
}

const comparedAddresses = scale(add(addressBytes, addressBytes), perCharacter)
const comparedNetworks = add(comparedAddresses, scale(addressBytes, perCharacter), one)
const maxFormatPattern = 128

/** The estimates of Kubernetes' libraries, by the name of the function. */
const byName: ReadonlyMap<string, Estimate> = new Map(
  Object.entries({
    ...named(['isSorted', 'sum', 'max', 'min', 'indexOf', 'lastIndexOf'], throughItems),
    url: (_, [text]) => ({ cost: scale(sizeOf(text), perCharacter), size: sizeOf(text) }),
    ...named(
      ['lowerAscii', 'upperAscii', 'substring', 'trim'],
      throughTarget(1, (size) => size),
    ),
    replace: replacement,
    split,
    join,
    ...named(['find', 'findAll'], find),
    ...named(['cidr', 'isIP', 'isCIDR', 'quantity', 'isQuantity', 'semver', 'isSemver'], throughFirst()),
    ip: (target, args) => (target === undefined ? throughFirst()(target, args) : { cost: one }),
    'ip.isCanonical': throughFirst(2),
    validate: (_, [text]) => ({
      cost: scale(scale(sizeOf(text), perCharacter), maxFormatPattern * perPatternCharacter),
    }),
    ...named(
      'masked prefixLength family isUnspecified isLoopback isLinkLocalMulticast isLinkLocalUnicast isGlobalUnicast'.split(
        ' ',
      ),
      constant,
    ),
    ...named(
      'sign asInteger isInteger asApproximateFloat isGreaterThan isLessThan compareTo add sub major minor patch'.split(
        ' ',
      ),
      constant,
    ),
    ...named('format.named getScheme getHostname getHost getPort getEscapedPath getQuery'.split(' '), constant),
    sort: sorting((target) => target),
    '@sortByAssociatedKeys': sorting((_, [keys]) => keys),
  }),
)

function named(names: readonly string[], estimate: Estimate): Readonly<Record<string, Estimate>> {
  return Object.fromEntries(names.map((name) => [name, estimate]))
}

const overSmaller: Estimate = (_, [left, right]) => {
  const max = Math.min(sizeOf(left).max, sizeOf(right).max)
  return { cost: scale({ min: Math.min(1, max), max }, perCharacter) }
}

const addressTypes = new Set(['net.IP', 'net.CIDR', 'kubernetes.Quantity', 'kubernetes.Semver'])

const equality: Estimate = (target, args) => {
  const [left, right] = args
  if (left === undefined || right === undefined || !left.type.equals(right.type)) return overSmaller(target, args)
  if (addressTypes.has(left.type.name)) return { cost: one }
  if (left.type.name === 'kubernetes.NamedFormat') return { cost: scale({ min: 1, max: 64 }, perCharacter) }
  if (left.type.name !== 'kubernetes.URL') return overSmaller(target, args)
  const size = right.size === undefined ? one : right.size
  return { cost: scale({ min: 1, max: size.max }, perCharacter) }
}

const joined: Estimate = (_, [left, right]) => {
  const size = add(sizeOf(left), sizeOf(right))
  return { cost: scale(size, perCharacter), size }
}

function setCost(factor: number): Estimate {
  return (_, [left, right]) => ({ cost: add(scale(multiply(sizeOf(left), sizeOf(right)), factor), one) })
}

/** Returns the estimate for a call that makes a list: the list costs too. */
function listCost(factor: number, size: Range): CallEstimate {
  return { cost: add(scale(size, factor), one, exactly(10)), size }
}

function integerOr(operand: Operand | undefined, otherwise: number): number {
  const value = literalInteger(operand)
  return value === undefined ? otherwise : Math.max(0, value)
}

function sorting(keysOf: (target: Operand | undefined, args: readonly Operand[]) => Operand | undefined): Estimate {
  return (target, args) => {
    const keys = keysOf(target, args)
    const [type] = keys?.type.parameters ?? []
    const isText = type?.kind === 'string' || type?.kind === 'bytes'
    return listCost(isText ? 2 + perCharacter : 2, multiply(sizeOf(keys), sizeOf(keys)))
  }
}

const ordered = ['<', '<=', '>', '>='].flatMap((sign) => {
  return ['string', 'bytes'].map((type) => `_${sign}_(${type}, ${type}): bool`)
})

/** The estimates of cel-go's functions, by the overload. */
const bySignature: Readonly<Record<string, Estimate>> = {
  'string.format(list(dyn)): string': throughTarget(1, () => undefined),
  'bytes(string): bytes': (_, [text]) => {
    const { min, max } = sizeOf(text)
    return { cost: scale(sizeOf(text), perCharacter), size: { min, max: clamp(max * 4) } }
  },
  'string(bytes): string': (_, [bytes]) => {
    const { min, max } = sizeOf(bytes)
    return { cost: scale(sizeOf(bytes), perCharacter), size: { min: Math.floor(min / 4), max } }
  },
  'strings.quote(string): string': (_, [text]) => {
    const { min, max } = sizeOf(text)
    return { cost: scale(sizeOf(text), perCharacter), size: { min: min + 2, max: clamp(max * 2 + 2) } }
  },
  ...named(['string.startsWith(string): bool', 'string.endsWith(string): bool'], throughFirst()),
  '@in(A, list(A)): bool': (_, [, list]) => ({ cost: sizeOf(list) }),
  'string.matches(string): bool': (target, [pattern]) => ({ cost: searchCost(sizeOf(target), sizeOf(pattern)) }),
  'string.contains(string): bool': (target, [part]) => {
    return { cost: multiply(scale(sizeOf(target), perCharacter), scale(sizeOf(part), perCharacter)) }
  },
  ...named(['_+_(string, string): string', '_+_(bytes, bytes): bytes'], joined),
  '_+_(list(A), list(A)): list(A)': (_, [left, right]) => ({ cost: one, size: add(sizeOf(left), sizeOf(right)) }),
  ...named([...ordered, '_!=_(A, A): bool'], overSmaller),
  '_==_(A, A): bool': equality,
  'net.CIDR.containsIP(string): bool': (_, [text]) => {
    return { cost: add(comparedAddresses, scale(sizeOf(text), perCharacter)) }
  },
  'net.CIDR.containsIP(net.IP): bool': () => ({ cost: comparedAddresses }),
  'net.CIDR.containsCIDR(string): bool': (_, [text]) => {
    return { cost: add(comparedNetworks, scale(sizeOf(text), perCharacter)) }
  },
  'net.CIDR.containsCIDR(net.CIDR): bool': () => ({ cost: comparedNetworks }),
  ...named(['sets.contains(list(T), list(T)): bool', 'sets.intersects(list(T), list(T)): bool'], setCost(1)),
  'sets.equivalent(list(T), list(T)): bool': setCost(2),
  'list(T).slice(int, int): list(T)': (target, [start, end]) => {
    return listCost(1, exactly(Math.max(0, integerOr(end, sizeOf(target).max) - integerOr(start, 0))))
  },
  'list(list(T)).flatten(): list(T)': (target) => listCost(1, sizeOf(target)),
  'list(dyn).flatten(int): list(dyn)': (target, [depth]) => listCost(integerOr(depth, unknown.max), sizeOf(target)),
  'lists.range(int): list(int)': (_, [count]) => listCost(1, exactly(integerOr(count, unknown.max))),
  'list(T).reverse(): list(T)': (target) => listCost(1, sizeOf(target)),
  'list(T).distinct(): list(T)': (target) => listCost(2, multiply(sizeOf(target), sizeOf(target))),
}

/** Returns the estimated cost of a call and the size of its result; most calls take one step. */
export function estimateCall(
  name: string,
  signature: string,
  target: Operand | undefined,
  args: readonly Operand[],
): CallEstimate {
  const estimate = Object.hasOwn(bySignature, signature) ? bySignature[signature] : byName.get(name)
  return estimate?.(target, args) ?? { cost: one }
}
