import type { JsonObject } from '../../model/api-object.ts'
import type { Resource } from '../resources/resource.ts'
import { versionInfo } from '../version.ts'
import { SharedTypes, toOpenApiSchema } from './open-api-schema.ts'
import { componentName, groupVersionKind, type Operation, type OperationPath, pathsOf } from './operations.ts'

export const info = { title: 'Platnet', version: versionInfo.gitVersion }

/** The OpenAPI v3 document of one group and version. */
export function toVersion3(resources: readonly Resource[]): JsonObject {
  const paths = resources.flatMap(pathsOf).map((path) => [path.path, toPathItem(path)] as const)
  return { openapi: '3.0.0', info, paths: Object.fromEntries(paths), components: { schemas: toComponents(resources) } }
}

/** The kinds with their names in the API, and the types that they share. */
export function toComponents(resources: readonly Resource[]): JsonObject {
  const shared = new SharedTypes()
  const kinds = resources.map((resource) => {
    const { typeName: _, ...schema } = resource.schema
    const gvk = [groupVersionKind(resource)]
    const extensions = { 'x-kubernetes-group-version-kind': gvk, 'x-platform-group-version-kind': gvk }
    return [componentName(resource), { ...toOpenApiSchema(schema, shared), ...extensions }] as const
  })
  return { ...shared.all(), ...Object.fromEntries(kinds) }
}

function toPathItem(item: OperationPath): JsonObject {
  const { path, operations } = item
  const names = [...path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => name)
  const parameters = names.map((name) => ({ name, in: 'path', required: true, schema: { type: 'string' } }))
  return {
    ...Object.fromEntries(operations.map((operation) => [operation.method, toOperation(operation, item)])),
    ...(parameters.length === 0 ? {} : { parameters }),
  }
}

function toOperation({ action, query, consumes }: Operation, { resource, part }: OperationPath): JsonObject {
  const gvk = groupVersionKind(part ?? resource)
  const content = part === undefined ? { $ref: `#/components/schemas/${componentName(resource)}` } : { type: 'object' }
  const body = action === 'post' || action === 'put' ? content : { type: 'object' }
  return {
    parameters: query.map((name) => ({ name, in: 'query', schema: { type: 'string' } })),
    ...(consumes.length === 0
      ? {}
      : { requestBody: { content: Object.fromEntries(consumes.map((type) => [type, { schema: body }])) } }),
    responses: { 200: { description: 'OK', content: { 'application/json': { schema: content } } } },
    'x-kubernetes-action': action,
    'x-kubernetes-group-version-kind': gvk,
    'x-platform-group-version-kind': gvk,
  }
}
