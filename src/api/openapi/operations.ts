import type { Json, JsonObject } from '../../model/api-object.ts'
import type { Dialect } from '../../model/dialect.ts'
import { type GroupVersionKind, kindOfSubresource, subresourceVerbsOf, verbsOf } from '../discovery/groups.ts'
import { protobufType } from '../negotiate/accept.ts'
import { apiVersionOf, type Resource } from '../resources/resource.ts'

/** One method of one path, as both versions of OpenAPI need it. */
export interface Operation {
  readonly method: 'get' | 'post' | 'put' | 'patch' | 'delete'
  /** In the words of `x-kubernetes-action`. */
  readonly action: string
  /** In the words of discovery and of roles. */
  readonly verb: string
  /** Names of the query parameters. */
  readonly query: readonly string[]
  /** Media types of the body, none where there is no body. */
  readonly consumes: readonly string[]
}

export interface OperationPath {
  readonly path: string
  readonly resource: Resource
  /** What is read and written there, where it is not the resource's own kind. */
  readonly part?: GroupVersionKind
  readonly operations: readonly Operation[]
}

const writeQuery = ['dryRun', 'fieldManager', 'fieldValidation']
const listQuery = [
  ...['allowWatchBookmarks', 'continue', 'fieldSelector', 'labelSelector', 'limit', 'resourceVersion'],
  ...['resourceVersionMatch', 'sendInitialEvents', 'timeoutSeconds', 'watch'],
]
const deleteQuery = ['dryRun', 'gracePeriodSeconds', 'propagationPolicy']
const objectTypes = ['application/json', 'application/yaml', protobufType]
const patchTypes = [
  'application/json-patch+json',
  'application/merge-patch+json',
  'application/strategic-merge-patch+json',
  'application/apply-patch+yaml',
]

const get: Operation = { method: 'get', action: 'get', verb: 'get', query: [], consumes: [] }
const put: Operation = { method: 'put', action: 'put', verb: 'update', query: writeQuery, consumes: objectTypes }
const patch: Operation = {
  method: 'patch',
  action: 'patch',
  verb: 'patch',
  query: [...writeQuery, 'force'],
  consumes: patchTypes,
}
const remove: Operation = {
  method: 'delete',
  action: 'delete',
  verb: 'delete',
  query: deleteQuery,
  consumes: objectTypes,
}
const list: Operation = { method: 'get', action: 'list', verb: 'list', query: listQuery, consumes: [] }
const post: Operation = { method: 'post', action: 'post', verb: 'create', query: writeQuery, consumes: objectTypes }
const removeAll: Operation = {
  ...remove,
  action: 'deletecollection',
  verb: 'deletecollection',
  query: [...deleteQuery, ...listQuery],
}

/** `api/v1`, `apis/apps/v1` */
export function groupVersionPath(resource: { readonly group: string; readonly version: string }): string {
  return `${resource.group === '' ? 'api' : 'apis'}/${apiVersionOf(resource)}`
}

/** Every path under which a resource is reached, with what can be done there. */
export function pathsOf(resource: Resource): readonly OperationPath[] {
  const verbs = verbsOf(resource)
  const served = allPathsOf(resource).map((path) => ({
    ...path,
    operations: path.operations.filter(({ verb }) => verbs.includes(verb)).map((each) => forKind(each, resource)),
  }))
  return served.filter(({ operations }) => operations.length > 0)
}

/** What custom resources do not take: their fields have no numbers, and their lists no keys that a patch could know. */
const builtInTypes = [protobufType, 'application/strategic-merge-patch+json']

function forKind(operation: Operation, { isCustom }: Resource): Operation {
  if (isCustom !== true) return operation
  return { ...operation, consumes: operation.consumes.filter((type) => !builtInTypes.includes(type)) }
}

function allPathsOf(resource: Resource): readonly OperationPath[] {
  const root = `/${groupVersionPath(resource)}`
  const collection = resource.namespaced
    ? `${root}/namespaces/{namespace}/${resource.plural}`
    : `${root}/${resource.plural}`
  const item = `${collection}/{name}`
  const everywhere = { path: `${root}/${resource.plural}`, resource, operations: [list] }
  return [
    ...(resource.namespaced ? [everywhere] : []),
    { path: collection, resource, operations: [list, post, removeAll] },
    { path: item, resource, operations: [get, put, patch, remove] },
    ...resource.subresources.filter(isDescribed).map((name) => {
      const kind = kindOfSubresource(resource, name)
      const part = kind.kind === resource.kind ? {} : { part: kind }
      const operations = [get, put, patch, post].filter(({ verb }) => subresourceVerbsOf(name).includes(verb))
      return { path: `${item}/${name}`, resource, operations, ...part }
    }),
  ]
}

const forPrograms: readonly string[] = ['binding', 'eviction', 'finalize']

/** What no person writes is left out. */
function isDescribed(subresource: string): boolean {
  return !forPrograms.includes(subresource)
}

export function groupVersionKind({ group, version, kind }: GroupVersionKind): JsonObject {
  return { group, version, kind }
}

/** The extension by which clients find a kind; in the platform dialect its own spelling stands beside the one that kubectl reads. */
export function kindExtension(dialect: Dialect['name'], value: Json): JsonObject {
  const platform = dialect === 'platform' ? { 'x-platform-group-version-kind': value } : {}
  return { 'x-kubernetes-group-version-kind': value, ...platform }
}

/** `core.v1.Pod`, `internal.platform.discovery.v1.EndpointSlice` */
export function componentName({ group, version, kind }: Resource): string {
  return `${group === '' ? 'core' : group.split('.').toReversed().join('.')}.${version}.${kind}`
}
