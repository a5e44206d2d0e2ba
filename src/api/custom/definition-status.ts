import type { Json, JsonObject } from '../../model/api-object.ts'
import { type ApiDocument, listAt, objectAt, textAt, without } from '../document.ts'
import { listReasons } from '../status.ts'
import { readNames } from './definition.ts'

interface Condition {
  readonly type: string
  readonly status: 'True' | 'False'
  readonly reason: string
  readonly message: string
}

/**
 * Returns the document with the status that it must have beside the others of its group: the names it got, whether it is served, the stored versions.
 * Returns the same document when nothing changes.
 */
export function settleStatus(document: ApiDocument, others: readonly ApiDocument[], time: string): ApiDocument {
  const { metadata } = document
  const status = objectAt(document['status'])
  const { accepted, conflict } = acceptNames(document, others)
  const wasEstablished = listAt(status, 'conditions').some((each) => {
    return textAt(each, 'type') === 'Established' && textAt(each, 'status') === 'True'
  })
  const conditions = [
    conflict ?? { type: 'NamesAccepted', status: 'True', reason: 'NoConflicts', message: 'no conflicts found' },
    established(conflict === undefined || wasEstablished),
    ...(metadata.deletionTimestamp === undefined ? [] : [terminating]),
  ] as const
  const next: JsonObject = {
    ...status,
    conditions: mergeConditions(listAt(status, 'conditions'), conditions, time),
    acceptedNames: { ...accepted, kind: textAt(accepted, 'kind'), plural: textAt(accepted, 'plural') },
    storedVersions: storedVersions(document),
  }
  return { ...document, status: next }
}

/** Checks whether the definition got every name that it wants, as of its own last write. */
export function hasItsNames({ status }: ApiDocument): boolean {
  return listAt(status, 'conditions').some((each) => {
    return textAt(each, 'type') === 'NamesAccepted' && textAt(each, 'status') === 'True'
  })
}

const decided = ['NamesAccepted', 'Established', 'Terminating']

/** Keeps what only the server decides (accepted names, its conditions), whatever the writer sends. */
export function keepDecided(next: ApiDocument, old: ApiDocument | undefined): ApiDocument {
  const isDecided = (each: Json) => decided.includes(textAt(each, 'type'))
  const conditions = [
    ...listAt(old?.['status'], 'conditions').filter(isDecided),
    ...listAt(next['status'], 'conditions').filter((each) => !isDecided(each)),
  ]
  const acceptedNames = objectAt(old?.['status'], 'acceptedNames')
  return { ...next, status: { ...objectAt(next['status']), acceptedNames, conditions } }
}

const terminating: Condition = {
  type: 'Terminating',
  status: 'True',
  reason: 'InstanceDeletionInProgress',
  message: 'CustomResource deletion is in progress',
}

function established(isEstablished: boolean): Condition {
  const type = 'Established'
  return isEstablished
    ? { type, status: 'True', reason: 'InitialNamesAccepted', message: 'the initial names have been accepted' }
    : { type, status: 'False', reason: 'NotAccepted', message: 'not all names are accepted' }
}

interface Acceptance {
  /** The names of `spec.names` that the definition gets; for the others, the name that it had. */
  readonly accepted: JsonObject
  /** The condition for the last name, in the order of Kubernetes, that another definition of the group has. */
  readonly conflict: Condition | undefined
}

function acceptNames(document: ApiDocument, others: readonly ApiDocument[]): Acceptance {
  const wanted = objectAt(document['spec'], 'names')
  const had = objectAt(document['status'], 'acceptedNames')
  const { resources, kinds } = namesOfOthers(document, others)
  let accepted: JsonObject = had
  let conflict: Condition | undefined
  for (const { field, reason, isKind } of decidedNames) {
    const taken = takenNames(wanted[field], had[field], isKind ? kinds : resources)
    if (taken.length === 0) accepted = withField(accepted, field, wanted[field])
    else conflict = notAccepted(reason, taken)
  }
  return { accepted: withField(accepted, 'categories', wanted['categories']), conflict }
}

const decidedNames = [
  { field: 'plural', reason: 'PluralConflict', isKind: false },
  { field: 'singular', reason: 'SingularConflict', isKind: false },
  { field: 'shortNames', reason: 'ShortNamesConflict', isKind: false },
  { field: 'kind', reason: 'KindConflict', isKind: true },
  { field: 'listKind', reason: 'ListKindConflict', isKind: true },
] as const

function namesOfOthers(document: ApiDocument, others: readonly ApiDocument[]) {
  const group = textAt(document['spec'], 'group')
  const rivals = others
    .filter((each) => each.metadata.name !== document.metadata.name && textAt(each['spec'], 'group') === group)
    .map((each) => readNames(objectAt(each['status'], 'acceptedNames')))
  return {
    resources: new Set(rivals.flatMap(({ plural, singular, shortNames }) => [plural, singular, ...shortNames])),
    kinds: new Set(rivals.flatMap(({ kind, listKind }) => [kind, listKind])),
  }
}

/** Returns the wanted names that other definitions have; a name that the definition already has is its own. */
function takenNames(wanted: Json | undefined, had: Json | undefined, others: ReadonlySet<string>): readonly string[] {
  const own = textsOf(had)
  return textsOf(wanted).filter((name) => !own.includes(name) && others.has(name))
}

function textsOf(value: Json | undefined): readonly string[] {
  if (Array.isArray(value)) return value.map(String)
  return typeof value === 'string' ? [value] : []
}

function withField(names: JsonObject, field: string, value: Json | undefined): JsonObject {
  return value === undefined ? without(names, field) : { ...names, [field]: value }
}

function notAccepted(reason: string, names: readonly string[]): Condition {
  const message = listReasons(names.map((name) => `${JSON.stringify(name)} is already in use`))
  return { type: 'NamesAccepted', status: 'False', reason, message }
}

/** Merges conditions. A condition with an unchanged status keeps its time; conditions of other types stay. */
function mergeConditions(old: readonly Json[], conditions: readonly Condition[], time: string): readonly Json[] {
  const kept = old.filter((each) => !conditions.some(({ type }) => type === textAt(each, 'type')))
  const merged = conditions.map((condition) => {
    const before = old.find((each) => textAt(each, 'type') === condition.type)
    const isSame = before !== undefined && textAt(before, 'status') === condition.status
    return { ...condition, lastTransitionTime: isSame ? textAt(before, 'lastTransitionTime') : time }
  })
  return [...merged, ...kept]
}

/** Adds the version in which objects are stored from now on to those in which some may be stored. */
export function withStorageVersion(document: ApiDocument): ApiDocument {
  return { ...document, status: { ...objectAt(document['status']), storedVersions: storedVersions(document) } }
}

function storedVersions({ spec, status }: ApiDocument): readonly Json[] {
  const stored = listAt(status, 'storedVersions')
  const storage = listAt(spec, 'versions').find((version) => objectAt(version)['storage'] === true)
  const name = textAt(storage, 'name')
  return stored.includes(name) ? stored : [...stored, name]
}
