import { anyProperty, noProperty, type Schema } from '../schema/schema.ts'

/** An object whose properties have no names. */
export function isMap({ additionalProperties, properties }: Schema): boolean {
  const isSchema = additionalProperties !== anyProperty && additionalProperties !== noProperty
  return additionalProperties !== undefined && isSchema && properties === undefined
}
