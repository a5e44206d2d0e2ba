import { parseFiniteJson } from '../exact-json.ts'
import { type DecodedBody, decodeUtf8, tryDecodeJson } from './json-text.ts'
import { readYaml, type YamlReading } from './yaml-text.ts'

/** The size of YAML, in characters, that takes a few milliseconds; the YAML thread reads longer texts. */
const maxLengthHere = 32 * 1024

/** Reads YAML on another thread. Rejects with the Status that refuses the text. */
export type YamlReader = (text: string) => Promise<YamlReading>

/** Decodes YAML. kubectl sends JSON as YAML, which the JSON parser reads much faster. Throws a 400 for text that is neither. */
export async function decodeYaml(bytes: Uint8Array, readElsewhere: YamlReader): Promise<DecodedBody> {
  const text = decodeUtf8(bytes)
  const decoded = tryDecodeJson(text)
  if (decoded !== undefined) return decoded
  const { json, duplicates } = text.length <= maxLengthHere ? readYaml(text) : await readElsewhere(text)
  return { value: parseFiniteJson(json), problems: { isYaml: true, findDuplicates: () => duplicates } }
}
