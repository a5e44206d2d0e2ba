import type { Json, JsonObject } from '../../model/api-object.ts'
import type { Dialect } from '../../model/dialect.ts'
import { type GroupVersionKind, kindOfSubresource, subresourceVerbsOf, verbsOf } from '../discovery/groups.ts'
import { protobufType } from '../negotiate/accept.ts'
import { apiVersionOf, type Resource } from '../resources/resource.ts'
import { kindComponentName, listComponentName, typeComponentName } from './component-names.ts'
import { type Action, operationId, operationTag, type Place } from './operation-id.ts'
import {
  deleteParameters,
  listParameters,
  type Parameter,
  patchParameters,
  pathParameters,
  readParameters,
  writeParameters,
} from './parameters.ts'

/** One method of one path, for both versions of OpenAPI. Types have the names of their components. */
export interface Operation {
  readonly method: 'get' | 'post' | 'put' | 'patch' | 'delete' | 'options' | 'head'
  readonly action: Action | 'connect'
  readonly id: string
  readonly tag: string
  readonly description: string
  readonly parameters: readonly Parameter[]
  readonly body?: { readonly type: string; readonly isRequired: boolean; readonly mediaTypes: readonly string[] }
  /** The status codes that answer with the type. */
  readonly codes: readonly (200 | 201 | 202)[]
  /** The type of the answer; undefined for text and streams. */
  readonly answer: string | undefined
  readonly produces: readonly string[]
  /** The kind that the operation reads and writes. */
  readonly kind: GroupVersionKind
}

export interface OperationPath {
  readonly path: string
  readonly parameters: readonly Parameter[]
  readonly operations: readonly Operation[]
}

/** The verbs of the actions, as discovery and roles name them. */
const verbs: Readonly<Record<Action, string>> = {
  ...{ get: 'get', list: 'list', post: 'create', put: 'update', patch: 'patch', delete: 'delete' },
  deletecollection: 'deletecollection',
}

/** Returns `api/v1` or, for a named group, `apis/apps/v1`. */
export function groupVersionPath(resource: { readonly group: string; readonly version: string }): string {
  return `${resource.group === '' ? 'api' : 'apis'}/${apiVersionOf(resource)}`
}

/** Returns the paths of a resource's collections, objects and their parts, with their operations. */
export function objectPathsOf(resource: Resource, dialect: Dialect['name']): readonly OperationPath[] {
  return placesOf(resource)
    .filter(({ actions }) => actions.length > 0)
    .map((place) => ({
      path: place.path,
      parameters: pathParameters(place.path),
      operations: place.actions.map((action) => toOperation(action, place, dialect)),
    }))
}

/** Returns the path of the collection in which objects are created. */
export function collectionPath(resource: Resource): string {
  const root = `/${groupVersionPath(resource)}`
  return resource.namespaced ? `${root}/namespaces/{namespace}/${resource.plural}` : `${root}/${resource.plural}`
}

function placesOf(resource: Resource): readonly Place[] {
  const { namespaced, plural, subresources } = resource
  const root = `/${groupVersionPath(resource)}`
  const collection = collectionPath(resource)
  const served = verbsOf(resource)
  const own = (...actions: readonly Action[]) => actions.filter((action) => served.includes(verbs[action]))
  return [
    ...(namespaced ? [{ path: `${root}/${plural}`, resource, actions: own('list'), isEverywhere: true }] : []),
    { path: collection, resource, actions: own('list', 'post', 'deletecollection') },
    { path: `${collection}/{name}`, resource, actions: own('get', 'put', 'patch', 'delete') },
    ...subresources.map((subresource) => {
      const verbsThere = subresourceVerbsOf(subresource)
      const actions = (['get', 'put', 'patch', 'post'] as const).filter((each) => verbsThere.includes(verbs[each]))
      return { path: `${collection}/{name}/${subresource}`, resource, actions, subresource }
    }),
  ]
}

const methods: Readonly<Record<Action, Operation['method']>> = {
  ...({ get: 'get', list: 'get', post: 'post', put: 'put', patch: 'patch', delete: 'delete' } as const),
  deletecollection: 'delete',
}

const parametersOf: Readonly<Record<Action, readonly Parameter[]>> = {
  ...{ get: [], list: listParameters, post: writeParameters, put: writeParameters, patch: patchParameters },
  delete: deleteParameters,
  deletecollection: [...deleteParameters, ...listParameters],
}

const codes: Readonly<Record<Action, Operation['codes']>> = {
  ...({ get: [200], list: [200], post: [200, 201, 202], put: [200, 201], patch: [200, 201] } as const),
  ...({ delete: [200, 202], deletecollection: [200] } as const),
}

const texts: Readonly<Record<Action, (kind: string) => string>> = {
  get: (kind) => `Reads ${kind}.`,
  list: (kind) => `Lists or watches objects of kind ${kind}.`,
  post: (kind) => `Creates ${kind}.`,
  put: (kind) => `Replaces ${kind}.`,
  patch: (kind) => `Changes parts of ${kind}.`,
  delete: (kind) => `Deletes ${kind}.`,
  deletecollection: (kind) => `Deletes all objects of kind ${kind} that the selectors name.`,
}

function toOperation(action: Action, place: Place, dialect: Dialect['name']): Operation {
  const { resource, subresource } = place
  const part = subresource === undefined ? resource : kindOfSubresource(resource, subresource)
  const [about, body] = [aboutOf(place), bodyOf(action, part, resource, dialect)]
  return {
    method: methods[action],
    action,
    id: operationId(action, place),
    tag: operationTag(resource),
    description: texts[action](about),
    parameters: action === 'get' && resource.isCustom === true ? readParameters : parametersOf[action],
    ...(body === undefined ? {} : { body }),
    codes: action === 'patch' && resource.isCustom === true ? [200] : codes[action],
    answer: answerOf(action, part, resource, dialect),
    produces: [...textTypes, ...(resource.isCustom === true ? [] : [protobufType])],
    kind: resource.isCustom === true ? resource : part,
  }
}

/** Returns the object of a description: `the Pod`, `the scale of the Deployment`; for collections the kind alone. */
function aboutOf({ resource, subresource, path }: Place): string {
  if (subresource !== undefined) return `the ${subresource} of the ${resource.kind}`
  return path.endsWith('{name}') ? `the ${resource.kind}` : resource.kind
}

const textTypes = ['application/json', 'application/yaml']
const patchTypes = [
  'application/json-patch+json',
  'application/merge-patch+json',
  'application/strategic-merge-patch+json',
  'application/apply-patch+yaml',
]
/** The media type of strategic merge patches. Custom resources do not support it: no patch can know the keys of their lists. */
const strategicType = 'application/strategic-merge-patch+json'

function bodyOf(
  action: Action,
  part: GroupVersionKind,
  { isCustom }: Resource,
  dialect: Dialect['name'],
): Operation['body'] {
  const objectTypes = isCustom === true ? textTypes : [...textTypes, protobufType]
  switch (action) {
    case 'get':
    case 'list':
      return undefined
    case 'post':
    case 'put':
      return { type: kindComponentName(part, dialect), isRequired: true, mediaTypes: objectTypes }
    case 'patch': {
      const mediaTypes = patchTypes.filter((type) => isCustom !== true || type !== strategicType)
      return { type: typeComponentName('meta.v1.Patch', dialect), isRequired: true, mediaTypes }
    }
    default:
      return { type: typeComponentName('meta.v1.DeleteOptions', dialect), isRequired: false, mediaTypes: objectTypes }
  }
}

function answerOf(action: Action, part: GroupVersionKind, resource: Resource, dialect: Dialect['name']): string {
  if (action === 'list') return listComponentName(resource, dialect)
  if (action === 'deletecollection') return typeComponentName('meta.v1.Status', dialect)
  const answersObject = action !== 'delete' || resource.strategy.showDeleted !== undefined
  return answersObject ? kindComponentName(part, dialect) : typeComponentName('meta.v1.Status', dialect)
}

export function groupVersionKind({ group, version, kind }: GroupVersionKind): JsonObject {
  return { group, version, kind }
}

/** Returns the extension by which clients find a kind; the platform dialect adds its own spelling to the one that kubectl reads. */
export function kindExtension(dialect: Dialect['name'], value: Json): JsonObject {
  const platform = dialect === 'platform' ? { 'x-platform-group-version-kind': value } : {}
  return { 'x-kubernetes-group-version-kind': value, ...platform }
}
