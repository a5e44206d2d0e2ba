import { type ApiDocument, objectAt, textAt } from '../document.ts'
import type { Store, StoreWrite } from '../store/index.ts'
import { readNames } from './definition.ts'

const claimsPrefix = '/registry/customresourcenames/'

/** The revisions of the claimed names, by key. */
export type NameClaims = ReadonlyMap<string, number>

/** Reads the claims of every name that the documents want or have. Read them before the definitions: a write in between then causes a conflict. */
export async function readClaims(store: Store, documents: readonly ApiDocument[]): Promise<NameClaims> {
  const keys = new Set(
    documents.flatMap((document) => [...claimKeys(document, 'spec'), ...claimKeys(document, 'status')]),
  )
  const entries = await Promise.all([...keys].map((key) => store.get(key)))
  return new Map(entries.flatMap((entry) => (entry === undefined ? [] : [[entry.key, entry.revision] as const])))
}

/**
 * Returns the writes that go into a definition's commit, so that only one of two definitions that want a name at the same moment gets it. Pure. It
 * claims names that were not accepted before, and releases names that the definition gives up.
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

/** Returns the keys of the names that a definition wants (spec) or has (status); names of kinds and names of resources do not conflict. */
function claimKeys(document: ApiDocument, part: 'spec' | 'status'): readonly string[] {
  const names = objectAt(document[part], part === 'spec' ? 'names' : 'acceptedNames')
  const { plural, singular, shortNames, kind, listKind } = readNames(names)
  const prefix = `${claimsPrefix}${textAt(document['spec'], 'group')}`
  const resources = [plural, singular, ...shortNames].filter((name) => name !== '')
  const kinds = [kind, listKind].filter((name) => name !== '')
  return [...resources.map((name) => `${prefix}/resources/${name}`), ...kinds.map((name) => `${prefix}/kinds/${name}`)]
}
