import type { Json, JsonObject } from '../../model/api-object.ts'
import { type ApiDocument, isJsonObject, jsonTypeName, type Metadata, without } from '../document.ts'
import type { ItemTarget, Target } from '../request/request.ts'
import { apiVersionOf, type Resource } from '../resources/resource.ts'
import { coerce, type TypeProblem } from '../schema/coerce.ts'
import { coerceStructural } from '../schema/coerce-structural.ts'
import { badRequest, type StatusError } from '../status.ts'

/** Decodes a body to a document of the target's kind: checks types, prunes unknown fields, fills in defaults. */
export function acceptDocument(target: Target, body: Json): ApiDocument {
  if (!isJsonObject(body)) throw badRequest(`expected an object in the body, found ${jsonTypeName(body)}`)
  const { resource } = target
  const apiVersion = apiVersionOf(resource)
  assertSameKind(resource, body)
  const coerceAny = resource.isCustom === true ? coerceStructural : coerce
  const { value, problems } = coerceAny(resource.schema, inStoredOrder(body, resource.kind, apiVersion))
  if (problems.length > 0) throw typeError(resource, problems)
  return placeInNamespace(target, value as ApiDocument)
}

/** Returns the body with its kind and apiVersion first, as it will be stored, so that it need not be put in order then. */
function inStoredOrder(body: JsonObject, kind: string, apiVersion: string): JsonObject {
  const { kind: _kind, apiVersion: _version, ...fields } = body
  return { kind, apiVersion, ...fields }
}

/** Throws a 400 for a body of another kind or version than the URL's; of built-in kinds they may be absent. */
export function assertSameKind(resource: Resource, body: JsonObject): void {
  if (resource.isCustom === true && !body['kind'])
    throw badRequest(`the object provided is unrecognized (must be of type ${resource.kind}): Object 'Kind' is missing`)
  if (resource.isCustom === true && !body['apiVersion'])
    throw badRequest(
      `the API version in the data () does not match the expected API version (${apiVersionOf(resource)})`,
    )
  assertSame('API version', body['apiVersion'], apiVersionOf(resource))
  assertSame('kind', body['kind'], resource.kind)
}

function assertSame(what: string, found: Json | undefined, expected: string): void {
  if (found === undefined || found === '' || found === expected) return
  const shown = typeof found === 'string' ? found : JSON.stringify(found)
  throw badRequest(`the ${what} in the data (${shown}) does not match the expected ${what} (${expected})`)
}

/** Checks that a write names the object of the URL or none. */
export function assertOnUrl(target: ItemTarget, { metadata }: ApiDocument): void {
  const { name = '' } = metadata
  if (name === '' || name === target.name) return
  throw badRequest(`the name of the object (${name}) does not match the name on the URL (${target.name})`)
}

/** Returns an object that requests an action on the object of the URL; it must have the same name. */
export function acceptAction(target: ItemTarget, kind: Resource, body: Json): ApiDocument {
  const action = acceptDocument({ ...target, resource: kind, subresource: undefined }, body)
  if (action.metadata.name === target.name) return action
  throw badRequest(`name in URL does not match name in ${kind.kind} object`)
}

function typeError(resource: Resource, problems: readonly TypeProblem[]): StatusError {
  const list = problems.map(({ path, expected, found }) => `${path}: expected ${expected}, found ${found}`).join(', ')
  const { kind, version } = resource
  return badRequest(`${kind} in version ${JSON.stringify(version)} cannot be handled as a ${kind}: ${list}`)
}

/** Removes the namespace from a cluster-scoped object, and the link that servers before Kubernetes 1.20 set: many published manifests have them. */
function placeInNamespace(target: Target, document: ApiDocument): ApiDocument {
  const { namespace: _, selfLink: _link, ...metadata } = withoutEmptyCollections(document.metadata)
  const given = document.metadata.namespace ?? ''
  if (given !== '' && target.namespace !== undefined && given !== target.namespace) {
    throw badRequest('the namespace of the provided object does not match the namespace sent on the request')
  }
  const placed = target.namespace === undefined ? metadata : { ...metadata, namespace: target.namespace }
  return { ...document, metadata: placed }
}

const collections = ['labels', 'annotations', 'finalizers', 'ownerReferences'] as const

/** Removes empty labels, annotations, finalizers and owners from metadata. */
function withoutEmptyCollections(metadata: Metadata): Metadata {
  const empty = collections.filter((field) => Object.keys(metadata[field] ?? [0]).length === 0)
  return empty.length === 0 ? metadata : without(metadata, ...empty)
}
