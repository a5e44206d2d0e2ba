import type { Resource } from '../resources/resource.ts'
import { metadataSchema, objectFields } from '../schema/built-in-schema.ts'
import type { Schema } from '../schema/schema.ts'

/** Returns the schema of a custom resource in a version of OpenAPI; version 2 contains only what its clients understand. */
export function customSchema({ schema }: Resource, version: 2 | 3): Schema {
  if (version === 2 && schema.preserveUnknownFields === true) return { type: 'object' }
  const { properties = {}, ...root } = withEmbeddedFields(version === 2 ? simplify(schema) : schema, version)
  return { ...root, properties: { ...properties, ...standardFields() } }
}

const metadataText =
  "Standard object's metadata: its name, namespace, labels and annotations, and what the server keeps of it."

function standardFields(): Readonly<Record<string, Schema>> {
  const { default: _, ...metadata } = metadataSchema()
  return { ...objectFields, metadata: { ...metadata, description: metadataText } }
}

/** Adds the fields of every object to an embedded object, which must name its kind. */
function withEmbeddedFields(schema: Schema, version: 2 | 3): Schema {
  const inner = mapParts(schema, (part) => withEmbeddedFields(part, version))
  if (schema.embeddedResource !== true || (version === 2 && schema.preserveUnknownFields === true)) return inner
  const required = new Set([...(schema.required ?? []), 'kind', 'apiVersion'])
  return { ...inner, required: [...required], properties: { ...inner.properties, ...standardFields() } }
}

/**
 * Simplifies a schema so that kubectl before 1.27 reads it correctly: it supports no alternatives and no null, and accepts any value where the type
 * is absent.
 */
function simplify(schema: Schema): Schema {
  const { allOf: _a, anyOf: _b, oneOf: _c, not: _d, nullable, required = [], ...kept } = mapParts(schema, simplify)
  const needed =
    schema.additionalProperties?.nullable === true ? [] : required.filter((name) => !isNullable(schema, name))
  const simple = needed.length === 0 ? kept : { ...kept, required: needed }
  const isOpen = kept.preserveUnknownFields === true
  if (nullable !== true && !isOpen) return simple
  const { items: _items, properties: _properties, type, ...open } = simple
  const isTyped = nullable !== true && type !== undefined && type !== 'object' && type !== 'array'
  return isTyped ? { ...open, type } : open
}

function isNullable({ properties = {} }: Schema, name: string): boolean {
  return Object.hasOwn(properties, name) && properties[name]?.nullable === true
}

/** Returns the schema with the schemas of its fields, items and further fields changed. */
function mapParts(schema: Schema, change: (part: Schema) => Schema): Schema {
  const { properties, items, additionalProperties } = schema
  const isSchema = additionalProperties !== undefined && Object.keys(additionalProperties).length > 0
  return {
    ...schema,
    ...(properties === undefined
      ? {}
      : { properties: Object.fromEntries(Object.entries(properties).map(([name, part]) => [name, change(part)])) }),
    ...(items === undefined ? {} : { items: change(items) }),
    ...(isSchema ? { additionalProperties: change(additionalProperties) } : {}),
  }
}
