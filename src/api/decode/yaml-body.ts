import { parseFiniteJson } from '../exact-json.ts'
import { type DecodedBody, decodeUtf8, tryDecodeJson } from './json-text.ts'
import { readYaml, type YamlReading } from './yaml-text.ts'

/** Characters of YAML that are read in a few milliseconds; more is read by the thread. */
const maxLengthHere = 32 * 1024

/** Reads YAML on another thread. Rejects with the Status that refuses the text. */
export type YamlReader = (text: string) => Promise<YamlReading>

/** kubectl sends JSON where YAML is asked for; reading it as JSON is much faster. Throws a 400 for what is neither. */
export async function decodeYaml(bytes: Uint8Array, readElsewhere: YamlReader): Promise<DecodedBody> {
  const text = decodeUtf8(bytes)
  const decoded = tryDecodeJson(text)
  if (decoded !== undefined) return decoded
  const { json, duplicates } = text.length <= maxLengthHere ? readYaml(text) : await readElsewhere(text)
  return { value: parseFiniteJson(json), problems: { isYaml: true, findDuplicates: () => duplicates } }
}
