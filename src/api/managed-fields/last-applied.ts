import type { Stages } from '../../loop/time-slice.ts'
import type { Json, JsonObject } from '../../model/api-object.ts'
import { type ApiDocument, isJsonObject, objectAt, textAt, without } from '../document.ts'
import type { Schema } from '../schema/schema.ts'
import {
  type Apply,
  type ApplyResult,
  applyConfiguration,
  type Conflict,
  conflictPaths,
  unchangedFields,
} from './apply.ts'
import { differenceOf, isEmptySet } from './field-set.ts'

/** The annotation in which `kubectl apply` without --server-side stores its last configuration. */
const annotation = 'kubectl.kubernetes.io/last-applied-configuration'
const kubectlManager = 'kubectl'

/**
 * Performs an apply. For kubectl over an object with a client-side apply, the fields owned that way are no conflict, and the annotation is
 * updated, so that both kinds of apply can be mixed.
 */
export function* applyWithLastApplied(apply: Apply): Stages<ApplyResult> {
  const result = yield* applyConfiguration(apply)
  const text = textAt(apply.live, 'metadata', 'annotations', annotation)
  if (apply.writer.manager !== kubectlManager || apply.live === undefined || text === '') return result
  const settled = yield* settleConflicts(apply, apply.live, parseOrUndefined(text), result)
  return settled.kind === 'merged'
    ? { ...settled, document: renewAnnotation(settled.document, apply.applied) }
    : settled
}

function* settleConflicts(
  apply: Apply,
  live: ApiDocument,
  lastApplied: Json | undefined,
  result: ApplyResult,
): Stages<ApplyResult> {
  if (result.kind !== 'conflicts' || !isJsonObject(lastApplied)) return result
  const isOwn = areLastApplied(apply.schema, live, lastApplied, result.conflicts)
  return isOwn ? yield* applyConfiguration({ ...apply, isForced: true }) : result
}

function areLastApplied(
  schema: Schema,
  live: ApiDocument,
  lastApplied: JsonObject,
  conflicts: readonly Conflict[],
): boolean {
  return isEmptySet(differenceOf(conflictPaths(conflicts), unchangedFields(schema, live, lastApplied)))
}

/** Renews the annotation; its text ends with a newline, as kubectl writes it. */
function renewAnnotation(document: JsonObject, applied: JsonObject): JsonObject {
  const metadata = objectAt(document, 'metadata')
  const own = objectAt(applied, 'metadata')
  const annotations = without(objectAt(own, 'annotations'), annotation)
  const configuration = { ...applied, metadata: { ...without(own, 'managedFields'), annotations } }
  const renewed = { ...objectAt(metadata, 'annotations'), [annotation]: `${JSON.stringify(configuration)}\n` }
  return { ...document, metadata: { ...metadata, annotations: renewed } }
}

function parseOrUndefined(text: string): Json | undefined {
  try {
    return JSON.parse(text) as Json
  } catch {
    return undefined
  }
}
