import { isDeepStrictEqual } from 'node:util'
import type { Json } from '../../model/api-object.ts'
import { type ApiDocument, listAt, textAt, withMetadata } from '../document.ts'

/** Owners that are named twice in the same words stand once in what is stored, and the client is told. */
export function dropDuplicateOwners(
  document: ApiDocument,
  warn: (text: string) => void = () => undefined,
): ApiDocument {
  const owners = listAt(document.metadata['ownerReferences'])
  const isFirst = (owner: Json, index: number) => owners.findIndex((each) => isDeepStrictEqual(each, owner)) === index
  const distinct = owners.filter(isFirst)
  if (distinct.length === owners.length) return document
  const repeated = owners.filter((owner, index) => !isFirst(owner, index)).map((owner) => textAt(owner, 'uid'))
  warn(
    `metadata.ownerReferences: entries that stand twice were dropped; their UIDs: ${[...new Set(repeated)].join(', ')}`,
  )
  return withMetadata(document, { ownerReferences: distinct })
}
