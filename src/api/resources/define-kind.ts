import { builtInSchema, overlaySchema } from '../schema/built-in-schema.ts'
import { object, type Schema } from '../schema/schema.ts'
import type { Resource } from './resource.ts'

type Needed = Pick<Resource, 'group' | 'version' | 'kind' | 'plural' | 'namespaced'>

interface KindFields extends Needed, Partial<Omit<Resource, keyof Needed | 'schema'>> {
  /** Top-level fields with the defaults that depend on nothing. */
  readonly defaults?: Readonly<Record<string, Schema>>
}

/** The definition of a built-in kind: only what differs from the defaults is given, and its fields come from `kinds.json`. */
export function defineKind({ defaults = {}, ...fields }: KindFields): Resource {
  const { group, version, kind } = fields
  return {
    singular: kind.toLowerCase(),
    shortNames: [],
    categories: [],
    subresources: [],
    schema: overlaySchema(builtInSchema(group, version, kind), object(defaults)),
    countsGeneration: false,
    selectableFields: {},
    columns: [],
    strategy: {},
    ...fields,
  }
}
