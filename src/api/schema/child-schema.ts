import type { Schema } from './schema.ts'

/** Returns the schema of a field: its own, or the one for all fields that are not named. `constructor` is a name like any other. */
export function childSchema({ properties, additionalProperties }: Schema, key: string): Schema | undefined {
  return properties !== undefined && Object.hasOwn(properties, key) ? properties[key] : additionalProperties
}
