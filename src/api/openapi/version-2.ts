import type { Json, JsonObject } from '../../model/api-object.ts'
import type { Dialect } from '../../model/dialect.ts'
import { isJsonObject } from '../document.ts'
import type { Resource } from '../resources/resource.ts'
import {
  componentName,
  groupVersionKind,
  kindExtension,
  type Operation,
  type OperationPath,
  pathsOf,
} from './operations.ts'
import { info, toComponents } from './version-3.ts'

/** The OpenAPI v2 document of everything, for clients older than v3. */
export function toVersion2(resources: readonly Resource[], dialect: Dialect['name']): JsonObject {
  const paths = resources.flatMap(pathsOf).map((path) => [path.path, toPathItem(path, dialect)] as const)
  const definitions = toDefinitions(toComponents(resources, dialect))
  return { swagger: '2.0', info, paths: Object.fromEntries(paths), definitions }
}

function toPathItem(item: OperationPath, dialect: Dialect['name']): JsonObject {
  const { path, operations } = item
  const names = [...path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => name)
  const parameters = names.map((name) => ({ name, in: 'path', required: true, type: 'string' }))
  return {
    ...Object.fromEntries(operations.map((operation) => [operation.method, toOperation(operation, item, dialect)])),
    ...(parameters.length === 0 ? {} : { parameters }),
  }
}

function toOperation(
  { action, query, consumes }: Operation,
  { resource, part }: OperationPath,
  dialect: Dialect['name'],
): JsonObject {
  const schema = part === undefined ? { $ref: `#/definitions/${componentName(resource)}` } : { type: 'object' }
  const isWhole = action === 'post' || action === 'put'
  const body = { name: 'body', in: 'body', required: isWhole, schema: isWhole ? schema : { type: 'object' } }
  const parameters = query.map((name) => ({ name, in: 'query', type: 'string' }))
  return {
    consumes,
    produces: ['application/json', 'application/yaml'],
    parameters: consumes.length === 0 ? parameters : [...parameters, body],
    responses: { 200: { description: 'OK', schema } },
    'x-kubernetes-action': action,
    ...kindExtension(dialect, groupVersionKind(part ?? resource)),
  }
}

/** What v2 cannot say is left out: alternatives, negation, null. */
function toDefinition(schema: JsonObject): JsonObject {
  const kept = Object.entries(schema).filter(([name]) => !['oneOf', 'anyOf', 'not', 'nullable'].includes(name))
  return Object.fromEntries(kept.map(([name, value]) => [name, toKeyword(name, value)]))
}

function toKeyword(name: string, value: Json | undefined): Json {
  if (name === '$ref') return String(value).replace('#/components/schemas/', '#/definitions/')
  if (name === 'properties' && isJsonObject(value)) return toDefinitions(value)
  if (name === 'allOf' && Array.isArray(value)) return value.filter(isJsonObject).map(toDefinition)
  const isSchema = (name === 'items' || name === 'additionalProperties') && isJsonObject(value)
  return isSchema ? toDefinition(value) : (value ?? null)
}

function toDefinitions(schemas: JsonObject): JsonObject {
  return Object.fromEntries(
    Object.entries(schemas).map(([name, schema]) => [name, isJsonObject(schema) ? toDefinition(schema) : schema]),
  )
}
