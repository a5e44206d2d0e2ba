import type { JsonObject } from '../../model/api-object.ts'
import type { Dialect } from '../../model/dialect.ts'
import type { Resource } from '../resources/resource.ts'
import { versionInfo } from '../version.ts'
import { SharedTypes, toOpenApiSchema } from './open-api-schema.ts'
import {
  componentName,
  groupVersionKind,
  kindExtension,
  type Operation,
  type OperationPath,
  pathsOf,
} from './operations.ts'

export const info = { title: 'Platnet', version: versionInfo.gitVersion }

/** The OpenAPI v3 document of one group and version. */
export function toVersion3(resources: readonly Resource[], dialect: Dialect['name']): JsonObject {
  const paths = resources.flatMap(pathsOf).map((path) => [path.path, toPathItem(path, dialect)] as const)
  const components = { schemas: toComponents(resources, dialect) }
  return { openapi: '3.0.0', info, paths: Object.fromEntries(paths), components }
}

/** The kinds with their names in the API, and the types that they share. */
export function toComponents(resources: readonly Resource[], dialect: Dialect['name']): JsonObject {
  const shared = new SharedTypes(dialect)
  const kinds = resources.map((resource) => {
    const { typeName: _, ...schema } = resource.schema
    const extensions = kindExtension(dialect, [groupVersionKind(resource)])
    return [componentName(resource), { ...toOpenApiSchema(schema, shared), ...extensions }] as const
  })
  return { ...shared.all(), ...Object.fromEntries(kinds) }
}

function toPathItem(item: OperationPath, dialect: Dialect['name']): JsonObject {
  const { path, operations } = item
  const names = [...path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => name)
  const parameters = names.map((name) => ({ name, in: 'path', required: true, schema: { type: 'string' } }))
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
  const content = part === undefined ? { $ref: `#/components/schemas/${componentName(resource)}` } : { type: 'object' }
  const body = action === 'post' || action === 'put' ? content : { type: 'object' }
  return {
    parameters: query.map((name) => ({ name, in: 'query', schema: { type: 'string' } })),
    ...(consumes.length === 0
      ? {}
      : { requestBody: { content: Object.fromEntries(consumes.map((type) => [type, { schema: body }])) } }),
    responses: { 200: { description: 'OK', content: { 'application/json': { schema: content } } } },
    'x-kubernetes-action': action,
    ...kindExtension(dialect, groupVersionKind(part ?? resource)),
  }
}
