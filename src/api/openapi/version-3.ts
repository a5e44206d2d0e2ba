import type { JsonObject } from '../../model/api-object.ts'
import type { Dialect } from '../../model/dialect.ts'
import type { Resource } from '../resources/resource.ts'
import { versionInfo } from '../version.ts'
import { toComponents } from './components.ts'
import { referenceTo } from './open-api-schema.ts'
import { groupVersionKind, kindExtension, type Operation, type OperationPath } from './operations.ts'
import type { Parameter } from './parameters.ts'
import { pathsOf } from './paths.ts'

export const info = { title: 'Platnet', version: versionInfo.gitVersion }

/** Returns the OpenAPI v3 document of one group and version. */
export function toVersion3(resources: readonly Resource[], dialect: Dialect['name']): JsonObject {
  const paths = resources.flatMap((resource) => pathsOf(resource, dialect))
  return {
    openapi: '3.0.0',
    info,
    paths: Object.fromEntries(paths.map((path) => [path.path, toPathItem(path, dialect)])),
    components: { schemas: toComponents(resources, dialect, 3) },
  }
}

function toPathItem({ parameters, operations }: OperationPath, dialect: Dialect['name']): JsonObject {
  return {
    ...Object.fromEntries(operations.map((operation) => [operation.method, toOperation(operation, dialect)])),
    ...toParameters(parameters),
  }
}

/** Returns the parameters; an empty list has no meaning, and kube-openapi omits it when it writes the document. */
function toParameters(parameters: readonly Parameter[]): JsonObject {
  if (parameters.length === 0) return {}
  return {
    parameters: parameters.map(({ type, ...parameter }) => ({
      ...parameter,
      ...(parameter.in === 'path' ? { required: true } : {}),
      schema: { type },
    })),
  }
}

function toOperation(operation: Operation, dialect: Dialect['name']): JsonObject {
  const { tag, description, id, parameters, body, codes, answer, produces } = operation
  const responses = codes.map((code) => [code, { description: codeTexts[code], content: toContent(produces, answer) }])
  return {
    tags: [tag],
    description,
    operationId: id,
    ...toParameters(parameters),
    ...(body === undefined ? {} : { requestBody: toBody(body) }),
    responses: { ...Object.fromEntries(responses), 401: { description: 'Unauthorized' } },
    'x-kubernetes-action': operation.action,
    ...kindExtension(dialect, groupVersionKind(operation.kind)),
  }
}

export const codeTexts = { 200: 'OK', 201: 'Created', 202: 'Accepted' } as const

function toBody({ mediaTypes, type, isRequired }: NonNullable<Operation['body']>): JsonObject {
  return { content: toContent(mediaTypes, type), ...(isRequired ? { required: true } : {}) }
}

function toContent(mediaTypes: readonly string[], type: string | undefined): JsonObject {
  const schema = type === undefined ? { type: 'string' } : { $ref: referenceTo(type) }
  return Object.fromEntries(mediaTypes.map((mediaType) => [mediaType, { schema }]))
}
