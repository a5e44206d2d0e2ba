import { CidrValue, IpValue } from '../library/addresses.ts'
import { FormatValue } from '../library/formats.ts'
import { ListValue, MapValue, OpaqueValue, OptionalValue, textLength, type Value } from '../values/values.ts'

type CallCost = (operands: readonly Value[], result: Value) => number

const perCharacter = 0.1
const perPatternCharacter = 0.25

/** Returns the size in characters, bytes, items or entries; 1 for a value without a size. */
function sizeOf(value: Value | undefined): number {
  if (typeof value === 'string') return textLength(value)
  if (value instanceof Uint8Array) return value.length
  if (value instanceof ListValue || value instanceof MapValue) return value.size
  if (value instanceof IpValue || value instanceof CidrValue) return value.bytes
  return 1
}

/** Returns the size of a value; the size of an optional is that of its content. */
function sizeInside(value: Value | undefined): number {
  return value instanceof OptionalValue && value.value !== undefined ? sizeInside(value.value) : sizeOf(value)
}

function through(times: number): CallCost {
  return ([first]) => Math.ceil(sizeOf(first) * times * perCharacter)
}

const constant: CallCost = () => 1

/** Returns the cost of visiting all parts of a value. */
function traversal(value: Value | undefined): number {
  if (typeof value === 'string') return Math.trunc(Buffer.byteLength(value) * perCharacter)
  if (value instanceof Uint8Array) return Math.trunc(value.length * perCharacter)
  let cost = 0
  if (value instanceof ListValue) {
    for (const item of value) cost += traversal(item)
    return cost
  }
  if (!(value instanceof MapValue)) return 1
  for (const key of value.keys()) cost += traversal(key) + traversal(value.find(key))
  return cost
}

function search(text: number, pattern: number): number {
  return Math.ceil((1 + text) * perCharacter) * Math.ceil(pattern * perPatternCharacter)
}

const pattern: CallCost = ([text, expression]) => search(sizeOf(text), sizeOf(expression))

const joined: CallCost = ([left, right]) => Math.ceil((sizeInside(left) + sizeInside(right)) * perCharacter)
const overSmaller: CallCost = ([left, right]) => {
  return Math.ceil(Math.min(sizeInside(left), sizeInside(right)) * perCharacter)
}

/** The cost of a comparison; values of Kubernetes' own types take one step. */
const equality: CallCost = (operands, result) => {
  return operands[0] instanceof OpaqueValue ? 1 : overSmaller(operands, result)
}

function network(isSubnet: boolean, isText: boolean): CallCost {
  return ([cidr, other]) => {
    const size = sizeOf(cidr)
    const compared = Math.ceil((size + size) * perCharacter) + (isSubnet ? Math.ceil(size * perCharacter) + 1 : 0)
    return compared + (isText ? Math.ceil(sizeOf(other) * perCharacter) : 0)
  }
}

const validation: CallCost = ([format, text]) => {
  return format instanceof FormatValue ? search(sizeOf(text), format.patternSize) : 1
}

function sets(factor: number): CallCost {
  return ([left, right]) => 1 + sizeOf(left) * sizeOf(right) * factor
}

/** Returns the cost of a call that makes a list: its size and a fixed part. */
const madeList = (size: number) => Math.trunc(size) + 11
const resultSize: CallCost = (_, result) => madeList(sizeOf(result))

/** Returns the cost of parsing a selector; Kubernetes expects a requirement in each two characters. */
function selectorCost(length: number): number {
  return 10 + Math.ceil(length * perCharacter) + Math.ceil(Math.ceil(length * 0.5) * 50)
}

function selfCompared(list: Value | undefined): number {
  const size = sizeOf(list)
  const first = list instanceof ListValue && size > 0 ? list.at(0) : undefined
  const isText = typeof first === 'string' || first instanceof Uint8Array
  return madeList(size * size * (isText ? 2 + perCharacter : 2))
}

const flattened: CallCost = ([list, depth]) => madeList(sizeOf(list) * (typeof depth === 'bigint' ? Number(depth) : 1))

function named(names: string, cost: CallCost): Readonly<Record<string, CallCost>> {
  return Object.fromEntries(names.split(' ').map((name) => [name, cost]))
}

/** The costs of Kubernetes' libraries, by the name of the function. */
const byName: Readonly<Record<string, CallCost>> = {
  ...named('isSorted sum max min indexOf lastIndexOf', ([first]) => traversal(first)),
  ...named('url lowerAscii upperAscii substring trim', through(1)),
  ...named('replace split', through(2)),
  join: (_, result) => Math.ceil(sizeOf(result) * 2 * perCharacter),
  ...named('find findAll', pattern),
  ...named('cidr isIP isCIDR quantity isQuantity semver isSemver', through(1)),
  ip: (operands, result) => (operands[0] instanceof CidrValue ? 1 : through(1)(operands, result)),
  'ip.isCanonical': through(2),
  validate: validation,
  '_==_': equality,
  '_!=_': overSmaller,
  sort: ([list]) => selfCompared(list),
  '@sortByAssociatedKeys': ([, keys]) => selfCompared(keys),
  // Two questions about permissions are the most that one expression can ask.
  check: () => 350_000,
  ...named('fieldSelector labelSelector', ([, selector]) => selectorCost(sizeOf(selector))),
  ...named('masked prefixLength family isUnspecified isLoopback isLinkLocalMulticast isLinkLocalUnicast', constant),
}

const ordered = ['<', '<=', '>', '>='].flatMap((sign) => {
  return ['string', 'bytes'].map((type) => [`_${sign}_(${type}, ${type}): bool`, overSmaller] as const)
})

/** The costs of cel-go's functions, by the overload where it is known in advance. */
const bySignature: Readonly<Record<string, CallCost>> = {
  ...Object.fromEntries(ordered),
  'string.startsWith(string): bool': startOf,
  'string.endsWith(string): bool': startOf,
  'bytes(string): bytes': startOf,
  'string(bytes): string': startOf,
  'strings.quote(string): string': startOf,
  'string.format(list(dyn)): string': startOf,
  '@in(A, list(A)): bool': ([, list]) => sizeInside(list),
  '_+_(string, string): string': joined,
  '_+_(bytes, bytes): bytes': joined,
  'string.matches(string): bool': ([text, expression]) => search(sizeInside(text), sizeInside(expression)),
  'string.contains(string): bool': ([text, part]) => {
    return Math.ceil(sizeInside(text) * perCharacter) * Math.ceil(sizeInside(part) * perCharacter)
  },
  'net.CIDR.containsIP(string): bool': network(false, true),
  'net.CIDR.containsIP(net.IP): bool': network(false, false),
  'net.CIDR.containsCIDR(string): bool': network(true, true),
  'net.CIDR.containsCIDR(net.CIDR): bool': network(true, false),
  'sets.contains(list(T), list(T)): bool': sets(1),
  'sets.intersects(list(T), list(T)): bool': sets(1),
  'sets.equivalent(list(T), list(T)): bool': sets(2),
  'list(T).slice(int, int): list(T)': resultSize,
  'lists.range(int): list(int)': resultSize,
  'list(T).reverse(): list(T)': resultSize,
  'list(list(T)).flatten(): list(T)': flattened,
  'list(dyn).flatten(int): list(dyn)': flattened,
  'list(T).distinct(): list(T)': ([list]) => selfCompared(list),
}

function startOf([first]: readonly Value[]): number {
  return Math.ceil(sizeInside(first) * perCharacter)
}

/** Returns the cost of a call without its operands; most calls take one step. `signature` is empty where several overloads fit. */
export function costOfCall(name: string, signature: string): CallCost {
  if (Object.hasOwn(bySignature, signature)) return bySignature[signature] ?? constant
  return (Object.hasOwn(byName, name) ? byName[name] : undefined) ?? constant
}
