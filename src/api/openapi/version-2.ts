import type { Json, JsonObject } from '../../model/api-object.ts'
import type { Dialect } from '../../model/dialect.ts'
import { isJsonObject } from '../document.ts'
import type { Resource } from '../resources/resource.ts'
import { toComponents } from './components.ts'
import { groupVersionKind, kindExtension, type Operation, type OperationPath } from './operations.ts'
import type { Parameter } from './parameters.ts'
import { pathsOf } from './paths.ts'
import { codeTexts, info } from './version-3.ts'

/** Returns the OpenAPI v2 document of all resources, for clients older than v3. */
export function toVersion2(resources: readonly Resource[], dialect: Dialect['name']): JsonObject {
  const paths = resources.flatMap((resource) => pathsOf(resource, dialect))
  return {
    swagger: '2.0',
    info,
    paths: Object.fromEntries(paths.map((path) => [path.path, toPathItem(path, dialect)])),
    definitions: toDefinitions(toComponents(resources, dialect, 2)),
  }
}

function toPathItem({ parameters, operations }: OperationPath, dialect: Dialect['name']): JsonObject {
  return {
    ...Object.fromEntries(operations.map((operation) => [operation.method, toOperation(operation, dialect)])),
    ...(parameters.length === 0 ? {} : { parameters: parameters.map(toParameter) }),
  }
}

function toParameter(parameter: Parameter): JsonObject {
  return { ...parameter, ...(parameter.in === 'path' ? { required: true } : {}) }
}

function toOperation(operation: Operation, dialect: Dialect['name']): JsonObject {
  const { tag, description, id, body, codes, answer, produces } = operation
  const parameters = [...(body === undefined ? [] : [toBody(body)]), ...operation.parameters.map(toParameter)]
  const responses = codes.map((code) => [code, { description: codeTexts[code], schema: toSchema(answer) }])
  return {
    tags: [tag],
    description,
    operationId: id,
    ...(body === undefined ? {} : { consumes: body.mediaTypes }),
    produces,
    ...(parameters.length === 0 ? {} : { parameters }),
    responses: { ...Object.fromEntries(responses), 401: { description: 'Unauthorized' } },
    'x-kubernetes-action': operation.action,
    ...kindExtension(dialect, groupVersionKind(operation.kind)),
  }
}

function toBody({ type, isRequired }: NonNullable<Operation['body']>): JsonObject {
  return { name: 'body', in: 'body', ...(isRequired ? { required: true } : {}), schema: toSchema(type) }
}

function toSchema(type: string | undefined): JsonObject {
  return type === undefined ? { type: 'string' } : { $ref: `#/definitions/${type}` }
}

/** The keywords that v2 omits: those that it cannot express, and defaults, which its clients do not use. */
const leftOut = ['oneOf', 'anyOf', 'not', 'nullable', 'default']

function toDefinition({ allOf, ...schema }: JsonObject): JsonObject {
  const kept = Object.entries(schema).filter(([name]) => !leftOut.includes(name))
  return Object.fromEntries([...kept, ...reference(allOf)].map(([name, value]) => [name, toKeyword(name, value)]))
}

/** Unwraps a reference that v3 wraps, so that a description can be beside it. */
function reference(allOf: Json | undefined): readonly [string, Json | undefined][] {
  const [only, ...more] = Array.isArray(allOf) ? (allOf as readonly Json[]) : []
  return isJsonObject(only) && only['$ref'] !== undefined && more.length === 0 ? [['$ref', only['$ref']]] : []
}

function toKeyword(name: string, value: Json | undefined): Json {
  if (name === '$ref') return String(value).replace('#/components/schemas/', '#/definitions/')
  if (name === 'properties' && isJsonObject(value)) return toDefinitions(value)
  const isSchema = (name === 'items' || name === 'additionalProperties') && isJsonObject(value)
  return isSchema ? toDefinition(value) : (value ?? null)
}

function toDefinitions(schemas: JsonObject): JsonObject {
  return Object.fromEntries(
    Object.entries(schemas).map(([name, schema]) => [name, isJsonObject(schema) ? toDefinition(schema) : schema]),
  )
}
