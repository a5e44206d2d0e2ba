import type { Json } from '../../model/api-object.ts'
import type { Schema } from '../schema/schema.ts'
import { renderPath } from './fields-v1.ts'
import { groupItems, memberSchema, shapeOf } from './shape.ts'

/** Finds duplicate items of a set or a keyed list in an applied configuration: `.spec.ports: duplicate entries for key [port=80]`. */
export function findDuplicateItems(schema: Schema | undefined, value: Json, path = ''): readonly string[] {
  const shape = shapeOf(schema, value)
  if (shape.kind === 'leaf') return []
  if (shape.kind === 'map') {
    return Object.entries(shape.value).flatMap(([key, member]) =>
      member === undefined ? [] : findDuplicateItems(memberSchema(schema, key) || undefined, member, `${path}.${key}`),
    )
  }
  const items = [...groupItems(schema, shape.value)]
  return items.flatMap(([step, [first = null, ...more]]) => [
    ...(more.length > 0 ? [`${path}: duplicate entries for key ${renderPath([step])}`] : []),
    ...findDuplicateItems(schema?.items, first, `${path}${renderPath([step])}`),
  ])
}
