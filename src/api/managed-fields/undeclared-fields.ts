import type { Json, JsonObject } from '../../model/api-object.ts'
import { isJsonObject } from '../document.ts'
import { declaredSchema } from '../schema/prune.ts'
import type { Schema } from '../schema/schema.ts'
import { renderPath } from './fields-v1.ts'
import { itemStep } from './shape.ts'

/** The number of fields reported: naming one takes time proportional to its path. */
const maxFields = 100

/**
 * Finds fields of an applied configuration that its schema does not declare, the first of each object: `.spec.colour: field not declared in
 * schema`.
 */
export function findUndeclaredFields(schema: Schema, value: Json): readonly string[] {
  const found: string[] = []
  collect(schema, value, '', found, false)
  return found
}

function collect(schema: Schema | undefined, value: Json, path: string, found: string[], isAroundKept: boolean): void {
  const isKept = isAroundKept || schema?.preserveUnknownFields === true
  if ((isKept && schema === undefined) || found.length === maxFields) return
  if (Array.isArray(value)) {
    for (const [index, item] of (value as readonly Json[]).entries())
      collect(schema?.items, item, `${path}${itemPath(schema, item, index)}`, found, isKept)
  } else if (isJsonObject(value)) collectMembers(schema ?? {}, value, path, found, isKept)
}

function collectMembers(schema: Schema, value: JsonObject, path: string, found: string[], isKept: boolean): void {
  let isFirst = true
  for (const [key, member] of Object.entries(value)) {
    const declared = declaredSchema(schema, key)
    if (declared !== undefined) collect(declared, member ?? null, `${path}.${key}`, found, false)
    else if (!isKept && isFirst && found.length < maxFields) {
      isFirst = false
      found.push(`${path}.${key}: field not declared in schema`)
    }
  }
}

/** Returns the path of a list item: `[name="web"]` in a keyed list, `[="a"]` in a set, `[2]` elsewhere. */
function itemPath(schema: Schema | undefined, item: Json, index: number): string {
  const isNamed = schema?.listType === 'set' || (schema?.listType === 'map' && isJsonObject(item))
  return isNamed ? renderPath([itemStep(schema, item)]) : `[${index}]`
}
