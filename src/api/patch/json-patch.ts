import { isDeepStrictEqual } from 'node:util'
import type { Json, JsonObject } from '../../model/api-object.ts'
import { isJsonObject, jsonTypeName } from '../document.ts'
import { parseJson } from '../exact-json.ts'
import {
  addAt,
  copyJson,
  GapCount,
  type MutableJson,
  PatchError,
  parsePointer,
  readAt,
  removeAt,
  replaceAt,
} from './json-pointer.ts'

const maxOperations = 10_000
/** The limit of bytes that the `copy` operations of one patch add, as JSON text. */
const maxCopiedBytes = 3 * 1024 * 1024
/** The limit of list items that one patch moves to open or close gaps: 10,000 operations at the start of a list of 10,000 items. */
const maxMovedItems = 100_000_000

/** Applies a JSON patch (RFC 6902) to a copy of the document: all operations or none. Throws PatchError. */
export function applyJsonPatch(document: Json, patch: Json): Json {
  if (!Array.isArray(patch)) throw new PatchError('malformed', `a JSON patch is an array, found ${jsonTypeName(patch)}`)
  if (patch.length > maxOperations) {
    const message = `The allowed maximum operations in a JSON patch is ${maxOperations}, got ${patch.length}`
    throw new PatchError('too-large', message)
  }
  const state = { root: copyJson(document), copiedBytes: 0, gaps: new GapCount(maxMovedItems) }
  for (const [index, operation] of patch.entries()) {
    if (!isJsonObject(operation)) throw new PatchError('malformed', `operation ${index} is not an object`)
    state.root = applyOperation(state, operation, index)
  }
  return state.root
}

interface PatchState {
  root: MutableJson
  readonly gaps: GapCount
  copiedBytes: number
}

function applyOperation(state: PatchState, operation: JsonObject, index: number): MutableJson {
  const path = pointerOf(operation, 'path', index)
  switch (operation['op']) {
    case 'add':
      return addAt(state.root, path, operandOf(operation, index), state.gaps)
    case 'remove':
      return removeAt(state.root, path, state.gaps)
    case 'replace':
      return replaceAt(state.root, path, operandOf(operation, index))
    case 'copy':
      return copy(state, pointerOf(operation, 'from', index), path)
    case 'move':
      return move(state, pointerOf(operation, 'from', index), path)
    case 'test':
      return test(state.root, path, operandOf(operation, index), index)
    default:
      throw new PatchError('malformed', `operation ${index}: unknown op ${JSON.stringify(operation['op'])}`)
  }
}

function copy(state: PatchState, from: readonly string[], path: readonly string[]): MutableJson {
  const text = JSON.stringify(readAt(state.root, from))
  state.copiedBytes += text.length
  if (state.copiedBytes > maxCopiedBytes) {
    throw new PatchError('too-large', `the copy operations of a JSON patch may add at most ${maxCopiedBytes} bytes`)
  }
  return addAt(state.root, path, parseJson(text) as MutableJson, state.gaps)
}

function move({ root, gaps }: PatchState, from: readonly string[], path: readonly string[]): MutableJson {
  if (from.length < path.length && from.every((token, index) => token === path[index])) {
    throw new PatchError('failed', 'a value cannot be moved into itself')
  }
  const value = readAt(root, from)
  if (isDeepStrictEqual(from, path)) return root
  return addAt(removeAt(root, from, gaps), path, value, gaps)
}

function test(root: MutableJson, path: readonly string[], expected: MutableJson, index: number): MutableJson {
  if (isDeepStrictEqual(readAt(root, path), expected)) return root
  throw new PatchError('failed', `operation ${index}: the value tested is not the one expected`)
}

function pointerOf(operation: JsonObject, member: 'path' | 'from', index: number): readonly string[] {
  const pointer = operation[member]
  if (typeof pointer === 'string') return parsePointer(pointer)
  throw new PatchError('malformed', `operation ${index}: ${member} must be a JSON pointer`)
}

function operandOf(operation: JsonObject, index: number): MutableJson {
  const value = Object.hasOwn(operation, 'value') ? operation['value'] : undefined
  if (value === undefined) throw new PatchError('malformed', `operation ${index}: value is missing`)
  return copyJson(value)
}
