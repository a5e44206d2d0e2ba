import { type ApiDocument, objectAt, textAt } from '../document.ts'
import type { Store, StoreWrite } from '../store/index.ts'
import { readNames } from './definition.ts'

const claimsPrefix = '/registry/customresourcenames/'

/** Revisions by key, of the names that are claimed. */
export type NameClaims = ReadonlyMap<string, number>

/** The claims of every name that the documents want or have. Read them before the definitions: what comes between shows as a conflict. */
export async function readClaims(store: Store, documents: readonly ApiDocument[]): Promise<NameClaims> {
  const keys = new Set(
    documents.flatMap((document) => [...claimKeys(document, 'spec'), ...claimKeys(document, 'status')]),
  )
  const entries = await Promise.all([...keys].map((key) => store.get(key)))
  return new Map(entries.flatMap((entry) => (entry === undefined ? [] : [[entry.key, entry.revision] as const])))
}

/**
 * Pure: what goes with a definition into its commit, so that of two that want one name in the same moment only one gets it. Names that
 * were not accepted before are claimed, names that are given up are free.
 */
export function claimWrites(
  claims: NameClaims,
  old: ApiDocument | undefined,
  next: ApiDocument | undefined,
): readonly StoreWrite[] {
  const before = new Set(old === undefined ? [] : claimKeys(old, 'status'))
  const after = new Set(next === undefined ? [] : claimKeys(next, 'status'))
  const value = JSON.stringify({ definition: next?.metadata.name })
  const taken = [...after.difference(before)].map((key): StoreWrite => {
    return { kind: 'put', key, value, expectedRevision: claims.get(key) ?? 0 }
  })
  const left = [...before.difference(after)].flatMap((key): StoreWrite[] => {
    const expectedRevision = claims.get(key)
    return expectedRevision === undefined ? [] : [{ kind: 'delete', key, expectedRevision }]
  })
  return [...taken, ...left]
}

/** The names a definition wants (spec) or has (status); those of kinds and those of resources do not get in each other's way. */
function claimKeys(document: ApiDocument, part: 'spec' | 'status'): readonly string[] {
  const names = objectAt(document[part], part === 'spec' ? 'names' : 'acceptedNames')
  const { plural, singular, shortNames, kind, listKind } = readNames(names)
  const prefix = `${claimsPrefix}${textAt(document['spec'], 'group')}`
  const resources = [plural, singular, ...shortNames].filter((name) => name !== '')
  const kinds = [kind, listKind].filter((name) => name !== '')
  return [...resources.map((name) => `${prefix}/resources/${name}`), ...kinds.map((name) => `${prefix}/kinds/${name}`)]
}
