import type { Message, MessageField } from './kind-tables.ts'

type FieldForm = Omit<MessageField, 'name' | 'number' | 'type'>

const zero: FieldForm = { keepsZero: true }
const list: FieldForm = { repeated: true }
const byName: FieldForm = { map: true }

function field(number: number, name: string, type: string, form: FieldForm = {}): MessageField {
  return { name, number, type, ...form }
}

/**
 * The protobuf messages of JSON schemas in CustomResourceDefinitions (`apiextensions/v1/generated.proto` of Kubernetes
 * 1.34). They are recursive, and therefore apart from the messages of `kinds.json`, which are not.
 */
export const jsonSchemaMessages: Readonly<Record<string, Message>> = {
  'json-schema': {
    fields: [
      field(1, 'id', 'string'),
      field(2, '$schema', 'string'),
      field(3, '$ref', 'string', zero),
      field(4, 'description', 'string'),
      field(5, 'type', 'string'),
      field(6, 'format', 'string'),
      field(7, 'title', 'string'),
      field(8, 'default', 'raw-json', zero),
      field(9, 'maximum', 'double', zero),
      field(10, 'exclusiveMaximum', 'bool'),
      field(11, 'minimum', 'double', zero),
      field(12, 'exclusiveMinimum', 'bool'),
      field(13, 'maxLength', 'int64', zero),
      field(14, 'minLength', 'int64', zero),
      field(15, 'pattern', 'string'),
      field(16, 'maxItems', 'int64', zero),
      field(17, 'minItems', 'int64', zero),
      field(18, 'uniqueItems', 'bool'),
      field(19, 'multipleOf', 'double', zero),
      field(20, 'enum', 'raw-json', list),
      field(21, 'maxProperties', 'int64', zero),
      field(22, 'minProperties', 'int64', zero),
      field(23, 'required', 'string', list),
      field(24, 'items', 'schema-or-list'),
      field(25, 'allOf', 'json-schema', list),
      field(26, 'oneOf', 'json-schema', list),
      field(27, 'anyOf', 'json-schema', list),
      field(28, 'not', 'json-schema'),
      field(29, 'properties', 'json-schema', byName),
      field(30, 'additionalProperties', 'schema-or-boolean', zero),
      field(31, 'patternProperties', 'json-schema', byName),
      field(32, 'dependencies', 'schema-or-texts', byName),
      field(33, 'additionalItems', 'schema-or-boolean', zero),
      field(34, 'definitions', 'json-schema', byName),
      field(35, 'externalDocs', 'external-documentation'),
      field(36, 'example', 'raw-json', zero),
      field(37, 'nullable', 'bool'),
      field(38, 'x-kubernetes-preserve-unknown-fields', 'bool', zero),
      field(39, 'x-kubernetes-embedded-resource', 'bool'),
      field(40, 'x-kubernetes-int-or-string', 'bool'),
      field(41, 'x-kubernetes-list-map-keys', 'string', list),
      field(42, 'x-kubernetes-list-type', 'string', zero),
      field(43, 'x-kubernetes-map-type', 'string', zero),
      field(44, 'x-kubernetes-validations', 'validation-rule', list),
    ],
  },
  'external-documentation': { fields: [field(1, 'description', 'string'), field(2, 'url', 'string')] },
  'validation-rule': {
    fields: [
      field(1, 'rule', 'string', zero),
      field(2, 'message', 'string'),
      field(3, 'messageExpression', 'string'),
      field(4, 'reason', 'string', zero),
      field(5, 'fieldPath', 'string'),
      field(6, 'optionalOldSelf', 'bool', zero),
    ],
  },
}

/** The fields of the messages that hold one of two alternatives: a schema, or the content of the second field. */
export const schemaUnions: Readonly<Record<string, Message>> = {
  'schema-or-list': { fields: [field(1, 'schema', 'json-schema'), field(2, 'other', 'json-schema', list)] },
  'schema-or-texts': { fields: [field(1, 'schema', 'json-schema'), field(2, 'other', 'string', list)] },
  'schema-or-boolean': { fields: [field(1, 'other', 'bool', zero), field(2, 'schema', 'json-schema')] },
}
