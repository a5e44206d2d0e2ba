import type { Json, JsonObject } from '../../../src/model/api-object.ts'

/** An object with another value in one place. */
export interface Changed {
  /** `spec.rules.0.host` */
  readonly place: string
  readonly value: Json
  readonly body: Json
}

type Step = string | number

const texts = [
  ...['', ' ', 'A', 'a b', 'a/b', 'a.b', 'a_b', '-a', 'a-', '..', 'a%b', '1', 'é', 'a\n', '*', '*.a.b', '/', '/a'],
  ...['10.0.0.1', '2001:db8::1', '10.0.0.0/8', '5%', '101%', 'In', 'Exists', 'TCP'],
  ...[15, 16, 63, 64, 253, 254, 300].map((length) => 'x'.repeat(length)),
]
const numbers = [-1, 0, 1, 79, 599, 65_535, 65_536, 2 ** 31 - 1, 2 ** 31, 2 ** 32 + 1, 1.5]
const mapped = new Set(['labels', 'matchLabels', 'annotations'])

/** Every field of an object with other values: of its own type, of others, and none. */
export function* otherValues(body: JsonObject, from: readonly Step[] = []): Generator<Changed> {
  for (const [path, value] of changesOf(valueAt(body, from), from)) {
    const isMetadata = path[0] === 'metadata' && path[1] !== 'name'
    if (path.length > 0 && !isMetadata) yield { place: path.join('.'), value, body: put(body, path, value) }
  }
}

function* changesOf(value: Json, path: readonly Step[]): Generator<readonly [readonly Step[], Json]> {
  for (const other of othersOf(value, path)) yield [path, other]
  if (mapped.has(String(path.at(-1)))) return
  if (Array.isArray(value)) for (const [index, item] of value.entries()) yield* changesOf(item, [...path, index])
  else if (isObject(value))
    for (const [name, field = null] of Object.entries(value)) yield* changesOf(field, [...path, name])
}

function othersOf(value: Json, path: readonly Step[]): readonly Json[] {
  if (Array.isArray(value)) return [null, [], [...value, value[0] ?? null], [null], [{}], 'text', {}]
  if (isObject(value)) return [null, {}, [], 'text', ...(mapped.has(String(path.at(-1))) ? mapsOf(value) : [])]
  if (typeof value === 'string') return [...texts, null, {}, [], 7, true]
  if (typeof value === 'number') return [...numbers, null, {}, [], 'text', '7', true]
  return [null, {}, [], 'text', 7, true, false]
}

function mapsOf(value: JsonObject): readonly Json[] {
  return texts.flatMap((text) => [
    { ...value, [text]: 'v' },
    { ...value, more: text },
  ])
}

function valueAt(value: Json, path: readonly Step[]): Json {
  return path.reduce<Json>((current, step) => (isObject(current) ? (current[step] ?? null) : null), value)
}

function put(value: Json, [step, ...rest]: readonly Step[], leaf: Json): Json {
  if (step === undefined) return leaf
  if (Array.isArray(value)) return value.map((item, index) => (index === step ? put(item, rest, leaf) : item))
  return isObject(value) ? { ...value, [step]: put(value[step] ?? null, rest, leaf) } : value
}

function isObject(value: Json): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
