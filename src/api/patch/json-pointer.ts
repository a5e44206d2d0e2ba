import type { Json } from '../../model/api-object.ts'
import { PlatnetError } from '../../model/errors.ts'
import { parseJson } from '../exact-json.ts'

/** JSON that this module may change in place: always a private copy. */
export type MutableJson = null | boolean | number | string | MutableJson[] | MutableObject
interface MutableObject {
  [key: string]: MutableJson
}

/** The error of a patch: `malformed` is not a patch at all, `too-large` passes a limit, `failed` does not fit the document. */
export class PatchError extends PlatnetError<'malformed' | 'too-large' | 'failed'> {}

/** Counts the list items that operations move: an insert in the middle of a list moves every item behind it. */
export class GapCount {
  readonly #limit: number
  #moved = 0

  constructor(limit: number) {
    this.#limit = limit
  }

  /** Throws PatchError once there were too many. */
  count(items: number): void {
    this.#moved += items
    if (this.#moved <= this.#limit) return
    throw new PatchError('too-large', `the operations of a JSON patch may move at most ${this.#limit} items of lists`)
  }
}

/** Parses a JSON pointer (RFC 6901): `/a/b~1c` gives `['a', 'b/c']`, the empty text the whole document. */
export function parsePointer(text: string): readonly string[] {
  if (text === '') return []
  if (!text.startsWith('/') || /~([^01]|$)/.test(text)) {
    throw new PatchError('malformed', `${JSON.stringify(text)} is not a JSON pointer`)
  }
  return text
    .slice(1)
    .split('/')
    .map((token) => token.replaceAll('~1', '/').replaceAll('~0', '~'))
}

export function readAt(root: MutableJson, path: readonly string[]): MutableJson {
  return path.reduce((value, token) => readChild(value, token, path), root)
}

/** Inserts into an array or sets a member; returns the new root, which differs only for the empty path. */
export function addAt(root: MutableJson, path: readonly string[], value: MutableJson, gaps: GapCount): MutableJson {
  const token = path.at(-1)
  if (token === undefined) return value
  const parent = readAt(root, path.slice(0, -1))
  if (Array.isArray(parent))
    insert(parent, token === '-' ? parent.length : indexIn(parent.length, token, path), value, gaps)
  else setMember(objectIn(parent, path), token, value)
  return root
}

function insert(items: MutableJson[], index: number, value: MutableJson, gaps: GapCount): void {
  gaps.count(items.length - index)
  items.splice(index, 0, value)
}

export function removeAt(root: MutableJson, path: readonly string[], gaps: GapCount): MutableJson {
  const token = path.at(-1)
  if (token === undefined) throw failure('the whole document cannot be removed', path)
  const parent = readAt(root, path.slice(0, -1))
  readChild(parent, token, path)
  if (Array.isArray(parent)) {
    gaps.count(parent.length - Number(token))
    parent.splice(Number(token), 1)
  } else delete objectIn(parent, path)[token]
  return root
}

export function replaceAt(root: MutableJson, path: readonly string[], value: MutableJson): MutableJson {
  const token = path.at(-1)
  if (token === undefined) return value
  const parent = readAt(root, path.slice(0, -1))
  readChild(parent, token, path)
  if (Array.isArray(parent)) parent[Number(token)] = value
  else setMember(objectIn(parent, path), token, value)
  return root
}

export function copyJson(value: Json | MutableJson): MutableJson {
  return parseJson(JSON.stringify(value)) as MutableJson
}

function readChild(value: MutableJson, token: string, path: readonly string[]): MutableJson {
  const child = Array.isArray(value)
    ? value[indexIn(value.length - 1, token, path)]
    : Object.getOwnPropertyDescriptor(objectIn(value, path), token)?.value
  if (child === undefined) throw failure('there is nothing there', path)
  return child
}

function indexIn(last: number, token: string, path: readonly string[]): number {
  if (!/^(0|[1-9]\d{0,9})$/.test(token) || Number(token) > last) {
    throw failure(`${JSON.stringify(token)} is not an index of the array`, path)
  }
  return Number(token)
}

function objectIn(value: MutableJson, path: readonly string[]): MutableObject {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value
  throw failure('its parent is not an object or an array', path)
}

/** Sets a member. Plain assignment to `__proto__` would change the prototype instead. */
function setMember(object: MutableObject, key: string, value: MutableJson): void {
  Object.defineProperty(object, key, { value, enumerable: true, configurable: true, writable: true })
}

function failure(why: string, path: readonly string[]): PatchError {
  const pointer = path.map((token) => `/${token.replaceAll('~', '~0').replaceAll('/', '~1')}`).join('')
  return new PatchError('failed', `cannot use path ${JSON.stringify(pointer)}: ${why}`)
}
