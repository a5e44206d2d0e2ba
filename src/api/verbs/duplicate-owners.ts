import type { Json } from '../../model/api-object.ts'
import { type ApiDocument, listAt, textAt, withMetadata } from '../document.ts'
import { canonicalText } from '../schema/canonical-text.ts'

/** The number of owners that a warning names: people read it. */
const maxNamed = 10

/** Removes exact repetitions from the owners of an object, and warns the client. */
export function dropDuplicateOwners(
  document: ApiDocument,
  warn: (text: string) => void = () => undefined,
): ApiDocument {
  const owners = listAt(document.metadata['ownerReferences'])
  if (owners.length < 2) return document
  const firsts = new Map<string, Json>()
  const repeated: string[] = []
  for (const owner of owners) {
    const text = canonicalText(owner)
    if (firsts.has(text)) repeated.push(textAt(owner, 'uid'))
    else firsts.set(text, owner)
  }
  if (repeated.length === 0) return document
  warn(
    `metadata.ownerReferences: entries that stand twice were dropped; their UIDs: ${[...new Set(repeated)].slice(0, maxNamed).join(', ')}`,
  )
  return withMetadata(document, { ownerReferences: [...firsts.values()] })
}
