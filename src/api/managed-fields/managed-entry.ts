import type { Json, JsonObject } from '../../model/api-object.ts'
import { isJsonObject, textAt } from '../document.ts'
import { type FieldSet, isEmptySet, unionOf } from './field-set.ts'
import { decodeFields, encodeFields } from './fields-v1.ts'

/** A writer: an entry of `metadata.managedFields` without its fields. */
export interface Writer {
  readonly manager: string
  readonly operation: 'Apply' | 'Update'
  readonly apiVersion: string
  /** `""` for the object itself. */
  readonly subresource: string
}

export interface ManagedEntry extends Writer {
  /** RFC 3339; absent where a client wrote none. */
  readonly time: string | undefined
  readonly fields: FieldSet
}

/** Checks whether two writers are equal: an applier is one writer in every version of the kind, an updater is one per version. */
export function isSameWriter(left: Writer, right: Writer): boolean {
  return (
    left.manager === right.manager &&
    left.operation === right.operation &&
    left.subresource === right.subresource &&
    (left.operation === 'Apply' || left.apiVersion === right.apiVersion)
  )
}

/** Decodes a list of entries; returns undefined for any other value. */
export function decodeEntries(value: Json | undefined): readonly ManagedEntry[] | undefined {
  if (!Array.isArray(value)) return undefined
  const entries = (value as readonly Json[]).map(decodeEntry)
  return entries.every((entry) => entry !== undefined) ? entries : undefined
}

function decodeEntry(value: Json): ManagedEntry | undefined {
  const fields = isJsonObject(value) ? decodeFields(value['fieldsV1']) : undefined
  const operation = textAt(value, 'operation')
  if (fields === undefined || (operation !== 'Apply' && operation !== 'Update')) return undefined
  return {
    manager: textAt(value, 'manager'),
    operation,
    apiVersion: textAt(value, 'apiVersion'),
    subresource: textAt(value, 'subresource'),
    time: textAt(value, 'time') || undefined,
    fields,
  }
}

/** Encodes the entries: appliers first, then by age and name, so that equal owners give equal text. */
export function encodeEntries(entries: readonly ManagedEntry[]): readonly JsonObject[] {
  return entries
    .filter(({ fields }) => !isEmptySet(fields))
    .sort((left, right) => compareTexts(sortKey(left), sortKey(right)))
    .map(({ fields, ...entry }) => encodeEntry(entry, encodeFields(fields)))
}

/** Encodes an entry whose fields are FieldsV1 already. */
export function encodeEntry(
  { manager, operation, apiVersion, time, subresource }: Omit<ManagedEntry, 'fields'>,
  fieldsV1: JsonObject,
): JsonObject {
  const timed = time === undefined ? {} : { time }
  const placed = subresource === '' ? {} : { subresource }
  return { manager, operation, apiVersion, ...timed, fieldsType: 'FieldsV1', fieldsV1, ...placed }
}

function sortKey({ operation, time = '', manager, apiVersion, subresource }: ManagedEntry): readonly string[] {
  return [operation, time, manager, apiVersion, subresource]
}

function compareTexts(left: readonly string[], right: readonly string[]): number {
  for (const [index, text] of left.entries()) {
    const other = right[index] ?? ''
    if (text !== other) return text < other ? -1 : 1
  }
  return 0
}

const maxUpdaters = 10
const bucketManager = 'ancient-changes'

/** Limits the updaters to ten: the oldest ones of a version are merged into one entry. */
export function capUpdaters(entries: readonly ManagedEntry[]): readonly ManagedEntry[] {
  const updaters = entries.filter(({ operation }) => operation === 'Update')
  if (updaters.length <= maxUpdaters) return entries
  const oldestFirst = updaters.sort((left, right) => compareTexts([left.time ?? ''], [right.time ?? '']))
  const kept = [...oldestFirst]
  for (const entry of oldestFirst) {
    if (kept.length <= maxUpdaters) break
    mergeIntoBucket(kept, entry)
  }
  return [...entries.filter(({ operation }) => operation === 'Apply'), ...kept]
}

/** Merges an entry into the bucket of its version; a single entry stays unchanged until a second one comes. */
function mergeIntoBucket(entries: ManagedEntry[], entry: ManagedEntry): void {
  const others = entries.filter((other) => other !== entry && other.apiVersion === entry.apiVersion)
  const target = others.find(({ manager }) => manager === bucketManager) ?? others[0]
  if (target === undefined || !entries.includes(entry)) return
  entries.splice(entries.indexOf(entry), 1)
  const { apiVersion, fields, time } = entry
  const merged = unionOf(target.fields, fields)
  const bucket = { manager: bucketManager, operation: 'Update' as const, apiVersion, subresource: '' }
  const later = (target.time ?? '') > (time ?? '') ? target.time : time
  entries[entries.indexOf(target)] = { ...bucket, time: later, fields: merged }
}
