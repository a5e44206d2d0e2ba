import { anyProperty, noProperty, type Schema } from '../schema/schema.ts'

/** Checks for a map: an object with `additionalProperties` and no named properties. */
export function isMap({ additionalProperties, properties }: Schema): boolean {
  const isSchema = additionalProperties !== anyProperty && additionalProperties !== noProperty
  return additionalProperties !== undefined && isSchema && properties === undefined
}
