import type { Stages } from '../../loop/time-slice.ts'
import type { JsonObject } from '../../model/api-object.ts'
import { type ApiDocument, isJsonObject, objectAt, without } from '../document.ts'
import type { Schema } from '../schema/schema.ts'
import { alignFields } from './align-fields.ts'
import { compareFields } from './compare.ts'
import { dropAbandoned } from './drop-abandoned.ts'
import { extractFields } from './extract.ts'
import {
  differenceOf,
  type FieldSet,
  intersectionOf,
  isEmptySet,
  isSameSet,
  noFields,
  pathsOf,
  setOfPaths,
  unionOf,
} from './field-set.ts'
import { decodeEntries, encodeEntries, isSameWriter, type ManagedEntry, type Writer } from './managed-entry.ts'
import { mergeApplied } from './merge-applied.ts'
import { ownableFields, type WrittenPart } from './ownable.ts'

export interface Apply {
  readonly schema: Schema
  /** Undefined where the object is created by this apply. */
  readonly live: ApiDocument | undefined
  /** The applied configuration, without defaults. */
  readonly applied: JsonObject
  readonly writer: Writer
  readonly part: WrittenPart
  readonly time: string
  /** Whether the apply takes over fields instead of reporting conflicts. */
  readonly isForced: boolean
}

/** A field that another manager owns and whose value would change. */
export interface Conflict {
  readonly owner: ManagedEntry
  readonly path: readonly string[]
}

export type ApplyResult =
  | { readonly kind: 'merged'; readonly document: JsonObject }
  | { readonly kind: 'conflicts'; readonly conflicts: readonly Conflict[] }

const updaterBeforeApply = 'before-first-apply'

/** Performs a server-side apply: merges the configuration into the live object, removes abandoned fields, updates managed fields. */
export function* applyConfiguration(apply: Apply): Stages<ApplyResult> {
  const { schema, live, applied, writer, part } = apply
  const entries = ownersOf(apply)
  yield
  const mine = entries.find((entry) => isSameWriter(entry, writer))
  const others = entries.filter((entry) => entry !== mine)
  const named = extractFields(schema, applied)
  const fields = ownableFields(named, part)
  yield
  const owned = others.reduce((set, entry) => unionOf(set, entry.fields), named)
  yield
  const merged = mergeApplied(schema, live, applied)
  yield
  const document = dropAbandoned(schema, merged, mine?.fields ?? noFields, owned) as JsonObject
  yield
  const { changed, removed } = compareFields(schema, live ?? {}, document)
  yield
  const takenOver = ownableFields(changed, part)
  const conflicts = findConflicts(others, takenOver)
  if (conflicts.length > 0 && !apply.isForced) return { kind: 'conflicts', conflicts }
  const left = others.map((entry) => ({
    ...entry,
    fields: differenceOf(differenceOf(entry.fields, takenOver), removed),
  }))
  yield
  const isSame = mine !== undefined && isEmptySet(takenOver) && isEmptySet(removed) && isSameSet(mine.fields, fields)
  const own = { ...writer, fields, time: isSame ? mine.time : apply.time }
  return { kind: 'merged', document: withManagedFields(document, [...left, own]) }
}

/** Returns the owners of the live object's fields. An untracked object belongs to its previous writer. */
function ownersOf({ schema, live, writer, part, time }: Apply): readonly ManagedEntry[] {
  if (live === undefined) return []
  const entries = decodeEntries(live.metadata['managedFields']) ?? []
  if (entries.length > 0) return entries.map((entry) => ({ ...entry, fields: alignFields(schema, entry.fields) }))
  const fields = ownableFields(compareFields(schema, {}, live).changed, part)
  return [{ ...writer, manager: updaterBeforeApply, operation: 'Update', time, fields }]
}

function findConflicts(others: readonly ManagedEntry[], changed: FieldSet): readonly Conflict[] {
  return others.flatMap((owner) =>
    pathsOf(intersectionOf(owner.fields, changed)).map((path): Conflict => ({ owner, path })),
  )
}

function withManagedFields(document: JsonObject, entries: readonly ManagedEntry[]): JsonObject {
  const metadata = without(objectAt(document, 'metadata'), 'managedFields')
  const managedFields = encodeEntries(entries)
  return { ...document, metadata: managedFields.length === 0 ? metadata : { ...metadata, managedFields } }
}

/** Returns the paths of conflicts as a set. */
export function conflictPaths(conflicts: readonly Conflict[]): FieldSet {
  return setOfPaths(conflicts.map(({ path }) => path))
}

/** Returns the fields of a configuration whose values in the live object are unchanged. */
export function unchangedFields(schema: Schema, live: ApiDocument, configuration: JsonObject): FieldSet {
  const merged = mergeApplied(schema, live, configuration)
  const { changed } = compareFields(schema, live, merged)
  return isJsonObject(configuration) ? differenceOf(extractFields(schema, configuration), changed) : noFields
}
