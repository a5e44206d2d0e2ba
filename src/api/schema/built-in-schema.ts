import { descriptionOf, kindTables, type MessageField, messageOf } from './kind-tables.ts'
import { listOf, mapOf, openObject, type Schema, text } from './schema.ts'

/**
 * Returns the schema of a built-in kind: Kubernetes' fields, without defaults; the group may be that of any dialect. `required` serves
 * documents only: the kind's strategy checks what it really requires. Throws for a kind that `kinds.json` does not have.
 */
export function builtInSchema(group: string, version: string, kind: string): Schema {
  const message = messageOf(group, version, kind)
  if (message === undefined) throw new Error(`${kind} of ${group}/${version} is not in src/api/schema/kinds.json`)
  const { properties = {}, ...schema } = new SchemaBuilder().messageSchema(message)
  const metadata = properties['metadata'] === undefined ? {} : { metadata: metadataSchema() }
  return { ...schema, properties: { ...objectFields, ...properties, ...metadata } }
}

/** The fields that every object has. */
export const objectFields = {
  apiVersion: {
    ...text,
    description: 'APIVersion defines the form of the object by group and version, such as apps/v1.',
  },
  kind: { ...text, description: 'Kind is the name of the type of the object, such as Service.' },
} as const

/** Returns the schema of a type of `kinds.json` that is no stored kind, such as `meta.v1.Status`. */
export function typeSchema(name: string): Schema {
  return new SchemaBuilder().messageSchema(name)
}

/** Returns the metadata schema of every object, custom resources included; never undefined. */
export function metadataSchema(): Schema {
  return { ...new SchemaBuilder().messageSchema('meta.v1.ObjectMeta'), default: {} }
}

/** Returns the base with the keywords of the overlay added, field by field: a kind states its defaults this way. */
export function overlaySchema(base: Schema, overlay: Schema): Schema {
  const isSameType = Object.keys(overlay).every((keyword) => keyword === 'default')
  if (isSameType) return { ...base, ...overlay }
  const { typeName: _, ...kept } = base
  const { properties, items, additionalProperties, ...keywords } = overlay
  return {
    ...kept,
    ...keywords,
    ...(properties === undefined ? {} : { properties: overlayProperties(base.properties ?? {}, properties) }),
    ...(items === undefined ? {} : { items: overlaySchema(base.items ?? {}, items) }),
    ...(additionalProperties === undefined
      ? {}
      : { additionalProperties: overlaySchema(base.additionalProperties ?? {}, additionalProperties) }),
  }
}

function overlayProperties(
  base: Readonly<Record<string, Schema>>,
  overlay: Readonly<Record<string, Schema>>,
): Readonly<Record<string, Schema>> {
  const changed = Object.entries(overlay).map(([name, schema]) => [name, overlaySchema(base[name] ?? {}, schema)])
  return { ...base, ...Object.fromEntries(changed) }
}

/** Returns the description of a message's field, or of the message itself where the field is `""`. */
function describe(message: string, field: string): Pick<Schema, 'description'> {
  const description = descriptionOf(message, field)
  return description === undefined ? {} : { description }
}

/** Builds schemas from messages; each message is built once, however often a kind uses it. */
class SchemaBuilder {
  readonly #built = new Map<string, Schema>()

  messageSchema(name: string): Schema {
    const built = this.#built.get(name) ?? this.#build(name)
    this.#built.set(name, built)
    return built
  }

  #build(name: string): Schema {
    const message = kindTables.messages[name]
    if (message === undefined) throw new Error(`${name} is not in kinds.json`)
    const properties = message.fields.flatMap((field) => this.#propertiesOf(field))
    const required = message.fields.filter((field) => field.required === true).map((field) => field.name)
    return {
      type: 'object',
      typeName: name,
      ...describe(name, ''),
      properties: Object.fromEntries(
        properties.map(([field, schema]) => [field, { ...schema, ...describe(name, field) }]),
      ),
      ...(required.length === 0 ? {} : { required }),
      ...(message.atomic === true ? { mapType: 'atomic' as const } : {}),
    }
  }

  #propertiesOf(field: MessageField): readonly [string, Schema][] {
    if (field.inline === true) return Object.entries(this.messageSchema(field.type).properties ?? {})
    return [[field.name, this.#fieldSchema(field)]]
  }

  #fieldSchema(field: MessageField): Schema {
    const { listType, listMapKeys, mapType, patchMergeKey, patchStrategy } = field
    const extensions = { listType, listMapKeys, mapType, patchMergeKey, patchStrategy }
    const stated = Object.fromEntries(Object.entries(extensions).filter(([, value]) => value !== undefined))
    return { ...this.#shapeOf(field), ...stated }
  }

  #shapeOf({ type, repeated, map }: MessageField): Schema {
    const value = forms[type] ?? this.messageSchema(type)
    if (repeated === true) return listOf(value)
    return map === true ? mapOf(value) : value
  }
}

/** The JSON schemas of protobuf scalars, and of the messages whose JSON is not an object of their fields. */
const forms: Readonly<Record<string, Schema>> = {
  string: text,
  bool: { type: 'boolean' },
  int32: { type: 'integer', format: 'int32' },
  int64: { type: 'integer', format: 'int64' },
  bytes: { type: 'string', format: 'byte', textForm: 'base64' },
  time: { type: 'string', format: 'date-time', textForm: 'time' },
  'micro-time': { type: 'string', format: 'date-time', textForm: 'micro-time' },
  quantity: { intOrString: true, format: 'quantity', textForm: 'quantity' },
  'int-or-string': { intOrString: true, format: 'int-or-string' },
  duration: text,
  'string-list': listOf(text),
  'raw-object': openObject,
  'json-schema': openObject,
}
