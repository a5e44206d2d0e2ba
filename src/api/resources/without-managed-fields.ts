import { endOfString } from '../exact-json.ts'

const [quote, openBracket, closeBracket, openBrace, closeBrace] = [0x22, 0x5b, 0x5d, 0x7b, 0x7d]
const metadataStart = '"metadata":{'
const managedFields = '"managedFields":['

/**
 * Leaves `metadata.managedFields` out of the JSON text of an object, without parsing it. Nothing before `metadata` can contain its characters, because quotes
 * in kind and apiVersion would be escaped; a text in another form stays as it is.
 */
export function withoutManagedFields(text: string): string {
  const key = findKey(text, text.indexOf(metadataStart) + metadataStart.length)
  // The revision stands before every other field, so a comma is before this one.
  if (key === -1 || text[key - 1] !== ',') return text
  return text.slice(0, key - 1) + text.slice(endOfNested(text, key + managedFields.length))
}

/** Returns the index of the key among the fields of the object whose first one begins at `from`; -1 where it has none. */
function findKey(text: string, from: number): number {
  for (let at = from; at < text.length; at += 1) {
    const code = text.charCodeAt(at)
    if (code === quote) {
      if (text.startsWith(managedFields, at)) return at
      at = endOfString(text, at)
    } else if (code === openBrace || code === openBracket) at = endOfNested(text, at + 1) - 1
    else if (code === closeBrace) return -1
  }
  return -1
}

/** Returns the index after the bracket that closes what was opened before `from`. */
function endOfNested(text: string, from: number): number {
  let at = from
  for (let depth = 1; depth > 0 && at < text.length; at += 1) {
    const code = text.charCodeAt(at)
    if (code === quote) at = endOfString(text, at)
    else if (code === openBrace || code === openBracket) depth += 1
    else if (code === closeBrace || code === closeBracket) depth -= 1
  }
  return at
}
