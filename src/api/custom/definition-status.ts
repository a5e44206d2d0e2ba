import type { Json, JsonObject } from '../../model/api-object.ts'
import { type ApiDocument, listAt, objectAt, textAt } from '../document.ts'
import { type DefinitionNames, readNames } from './definition.ts'

interface Condition {
  readonly type: string
  readonly status: 'True' | 'False'
  readonly reason: string
  readonly message: string
}

/**
 * The status a definition must have beside the others of its group: which names it got, whether it is served, which versions are stored.
 * Answers the document itself when that is what it says already.
 */
export function settleStatus(document: ApiDocument, others: readonly ApiDocument[], time: string): ApiDocument {
  const { spec, metadata } = document
  const status = objectAt(document['status'])
  const conflict = findConflict(document, others)
  const acceptedNames = conflict === undefined ? objectAt(spec, 'names') : objectAt(status, 'acceptedNames')
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
    acceptedNames: { ...acceptedNames, kind: textAt(acceptedNames, 'kind'), plural: textAt(acceptedNames, 'plural') },
    storedVersions: storedVersions(document),
  }
  return { ...document, status: next }
}

const decided = ['NamesAccepted', 'Established', 'Terminating']

/** What only the server decides (accepted names, its conditions) is as it was, whatever the writer says. */
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

/** A name that another definition of the group has got already. */
function findConflict(document: ApiDocument, others: readonly ApiDocument[]): Condition | undefined {
  const group = textAt(document['spec'], 'group')
  const rivals = others
    .filter((each) => each.metadata.name !== document.metadata.name && textAt(each['spec'], 'group') === group)
    .map((each) => readNames(objectAt(each['status'], 'acceptedNames')))
  const resources = new Set(rivals.flatMap(({ plural, singular, shortNames }) => [plural, singular, ...shortNames]))
  const kinds = new Set(rivals.flatMap(({ kind, listKind }) => [kind, listKind]))
  const wanted = readNames(objectAt(document['spec'], 'names'))
  return conflictOf(wanted, resources, kinds)
}

function conflictOf(
  { plural, singular, shortNames, kind, listKind }: DefinitionNames,
  resources: ReadonlySet<string>,
  kinds: ReadonlySet<string>,
): Condition | undefined {
  const shortName = shortNames.find((name) => resources.has(name))
  if (resources.has(plural)) return notAccepted('PluralConflict', plural)
  if (resources.has(singular)) return notAccepted('SingularConflict', singular)
  if (shortName !== undefined) return notAccepted('ShortNamesConflict', shortName)
  if (kinds.has(kind)) return notAccepted('KindConflict', kind)
  return kinds.has(listKind) ? notAccepted('ListKindConflict', listKind) : undefined
}

function notAccepted(reason: string, name: string): Condition {
  return { type: 'NamesAccepted', status: 'False', reason, message: `${JSON.stringify(name)} is already in use` }
}

/** A condition that says what it said keeps its time. Conditions of other types stay. */
function mergeConditions(old: readonly Json[], conditions: readonly Condition[], time: string): readonly Json[] {
  const kept = old.filter((each) => !conditions.some(({ type }) => type === textAt(each, 'type')))
  const merged = conditions.map((condition) => {
    const before = old.find((each) => textAt(each, 'type') === condition.type)
    const isSame = before !== undefined && textAt(before, 'status') === condition.status
    return { ...condition, lastTransitionTime: isSame ? textAt(before, 'lastTransitionTime') : time }
  })
  return [...merged, ...kept]
}

function storedVersions({ spec, status }: ApiDocument): readonly Json[] {
  const stored = listAt(status, 'storedVersions')
  const storage = listAt(spec, 'versions').find((version) => objectAt(version)['storage'] === true)
  const name = textAt(storage, 'name')
  return stored.includes(name) ? stored : [...stored, name]
}
