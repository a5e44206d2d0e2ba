import type { Schema } from './schema.ts'

/** The schema of a field: its own, or the one of all fields that are not named. `constructor` is a name like any other. */
export function childSchema({ properties, additionalProperties }: Schema, key: string): Schema | undefined {
  return properties !== undefined && Object.hasOwn(properties, key) ? properties[key] : additionalProperties
}
