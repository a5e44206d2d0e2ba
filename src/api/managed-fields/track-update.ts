import type { Stages } from '../../loop/time-slice.ts'
import type { Json } from '../../model/api-object.ts'
import { type ApiDocument, isJsonObject } from '../document.ts'
import type { Schema } from '../schema/schema.ts'
import { alignFields } from './align-fields.ts'
import { type Comparison, compareFields } from './compare.ts'
import { createdFields } from './created-fields.ts'
import { differenceOf, isEmptySet, noFields, unionOf } from './field-set.ts'
import {
  capUpdaters,
  decodeEntries,
  encodeEntries,
  encodeEntry,
  isSameWriter,
  type ManagedEntry,
  type Writer,
} from './managed-entry.ts'
import { ownableFields, type WrittenPart } from './ownable.ts'

export interface Update {
  readonly schema: Schema
  /** Undefined for a create. */
  readonly old: ApiDocument | undefined
  readonly next: ApiDocument
  readonly writer: Writer
  readonly part: WrittenPart
  readonly time: string
  /** The `metadata.managedFields` of the request: `[]` and `[{}]` clear, other entries replace the stored ones. */
  readonly requested: Json | undefined
}

/** Returns `metadata.managedFields` after a write other than an apply; undefined where the object is untracked. */
export function* trackUpdate(update: Update): Stages<Json | undefined> {
  const stored = update.old?.metadata['managedFields']
  const value = chooseEntries(stored, update.requested)
  const entries = decodeEntries(value) ?? []
  if (entries.length === 0) return update.old === undefined ? trackCreate(update) : undefined
  yield
  const { changed, removed } = compareOwnable(update)
  yield
  if (isEmptySet(changed) && isEmptySet(removed)) return value
  const isOwn = (entry: ManagedEntry) => isSameWriter(entry, update.writer)
  const aligned = entries.map((entry) => ({ ...entry, fields: alignFields(update.schema, entry.fields) }))
  const others = aligned.filter((entry) => !isOwn(entry)).map((entry) => takeFrom(entry, changed, removed))
  yield
  const before = aligned.find(isOwn)
  const fields = unionOf(differenceOf(before?.fields ?? noFields, removed), changed)
  yield
  const time = isEmptySet(changed) && before !== undefined ? before.time : update.time
  return encodeEntries(capUpdaters([...others.filter(isOwner), { ...update.writer, time, fields }].filter(isOwner)))
}

/** Returns the managed fields of a new object, all of which its writer owns; undefined where it has none. */
function trackCreate({ schema, next, part, writer, time }: Update): Json | undefined {
  const fields = createdFields(schema, next, part)
  return Object.keys(fields).length === 0 ? undefined : [encodeEntry({ ...writer, time }, fields)]
}

function chooseEntries(stored: Json | undefined, requested: Json | undefined): Json | undefined {
  if (isCleared(requested)) return undefined
  return (decodeEntries(requested) ?? []).length > 0 ? requested : stored
}

function isCleared(requested: Json | undefined): boolean {
  if (!Array.isArray(requested)) return false
  const [first, ...more] = requested as readonly Json[]
  return first === undefined || (more.length === 0 && isJsonObject(first) && Object.keys(first).length === 0)
}

function compareOwnable({ schema, old, next, part }: Update): Comparison {
  const { changed, removed } = compareFields(schema, old ?? {}, next)
  return { changed: ownableFields(changed, part), removed: ownableFields(removed, part) }
}

function takeFrom(entry: ManagedEntry, ...lost: readonly Comparison['changed'][]): ManagedEntry {
  return { ...entry, fields: lost.reduce(differenceOf, entry.fields) }
}

function isOwner({ fields }: ManagedEntry): boolean {
  return !isEmptySet(fields)
}
