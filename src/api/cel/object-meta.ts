import { type Schema, text } from '../schema/schema.ts'

const objectMeta: Schema = { type: 'object', properties: { name: text, generateName: text } }
const known = new WeakMap<Schema, Schema>()

/** Returns the schema of a whole API object with the metadata that rules see, whether or not the schema declares it. */
export function withObjectMeta(schema: Schema): Schema {
  const found = known.get(schema)
  if (found !== undefined) return found
  const made = hasObjectMeta(schema)
    ? schema
    : { ...schema, properties: { ...schema.properties, kind: text, apiVersion: text, metadata: objectMeta } }
  known.set(schema, made)
  return made
}

function hasObjectMeta({ properties = {} }: Schema): boolean {
  const { kind, apiVersion, metadata } = properties
  const names = [kind, apiVersion, metadata?.properties?.['name'], metadata?.properties?.['generateName']]
  return metadata?.type === 'object' && names.every((each) => each?.type === 'string')
}
