import type { Json } from '../../model/api-object.ts'
import { type LabelSelector, matchesLabels, readLabelSelector } from '../../model/selector.ts'
import { type ApiDocument, isJsonObject, listAt, textAt, valueAt } from '../document.ts'
import { collectionPrefix } from '../resources/keys.ts'
import type { Registry } from '../resources/registry.ts'
import { apiVersionOf, type Resource } from '../resources/resource.ts'
import type { Store, StoredEntry } from '../store/index.ts'
import type { AdmissionRequest } from './admission-request.ts'
import { isNamespaceResource, type Match, matchRules } from './match-rules.ts'

/** A request with what selectors and rules of all configurations need, read once. */
export interface AdmissionSubject {
  readonly request: AdmissionRequest
  /** The other versions of the resource. */
  readonly equivalents: readonly Resource[]
  /** The namespace of the object, as it is stored; undefined for objects of the cluster. A Namespace is its own. */
  readonly namespace: ApiDocument | undefined
}

/** Reads what matching needs. A namespace that does not exist matches only configurations without a namespace selector. */
export async function subjectOf(
  request: AdmissionRequest,
  { store, registry }: { readonly store: Store; readonly registry: Registry },
): Promise<AdmissionSubject> {
  const equivalents = equivalentsOf(request.resource, registry)
  const { resource, subresource, object, oldObject, namespace } = request
  if (isNamespaceResource(resource) && subresource === '' && object !== undefined)
    return { request, equivalents, namespace: object }
  if (isNamespaceResource(resource) && oldObject !== undefined) return { request, equivalents, namespace: oldObject }
  if (namespace === '') return { request, equivalents, namespace: undefined }
  const entry = await store.get(`${collectionPrefix({ plural: 'namespaces' }, undefined)}${namespace}`)
  return { request, equivalents, namespace: entry && parsedOnce(entry) }
}

const parsed = new WeakMap<StoredEntry, ApiDocument>()

function parsedOnce(entry: StoredEntry): ApiDocument {
  const document = parsed.get(entry) ?? (JSON.parse(entry.value) as ApiDocument)
  parsed.set(entry, document)
  return document
}

interface ByPrefix {
  readonly version: number
  readonly resources: ReadonlyMap<string, readonly Resource[]>
}

/** The resources of a registry by their place in the store, while the registry does not change. */
const byPrefix = new WeakMap<Registry, ByPrefix>()

/** Returns the other resources under which the objects of a resource are served. */
function equivalentsOf(resource: Resource, registry: Registry): readonly Resource[] {
  const { version } = registry
  const prefixOf = (each: Resource) => collectionPrefix(each, undefined)
  const known = byPrefix.get(registry)
  const current = known?.version === version ? known : { version, resources: Map.groupBy(registry.all(), prefixOf) }
  byPrefix.set(registry, current)
  return current.resources.get(prefixOf(resource))?.filter((each) => each !== resource) ?? []
}

/**
 * Returns the version in which a policy or binding (MatchResources of admissionregistration.k8s.io/v1) matches a
 * request; undefined where it does not match.
 */
export function matchResources(constraints: Json, subject: AdmissionSubject): Match | undefined {
  if (!selectsNamespace(valueAt(constraints, 'namespaceSelector'), subject)) return undefined
  if (!selectsObject(valueAt(constraints, 'objectSelector'), subject.request)) return undefined
  const matchPolicy = textAt(constraints, 'matchPolicy')
  if (matchRules(listAt(constraints, 'excludeResourceRules'), matchPolicy, subject) !== undefined) return undefined
  const rules = listAt(constraints, 'resourceRules')
  const { resource, kind } = subject.request
  return rules.length === 0 ? { resource, kind } : matchRules(rules, matchPolicy, subject)
}

/** Checks the labels of the namespace. Objects of the cluster that are no Namespace are always selected. */
export function selectsNamespace(selector: Json | undefined, { request, namespace }: AdmissionSubject): boolean {
  if (request.namespace === '' && !isNamespaceResource(request.resource)) return true
  return selects(selector, namespace)
}

/** Checks the labels of the object; its new or its old state is enough. */
export function selectsObject(
  selector: Json | undefined,
  { object, oldObject }: Pick<AdmissionRequest, 'object' | 'oldObject'>,
): boolean {
  return isEmpty(selector) || [object, oldObject].some((each) => each !== undefined && selects(selector, each))
}

function selects(selector: Json | undefined, document: ApiDocument | undefined): boolean {
  const requirements = parseSelector(selector)
  if (requirements.length === 0) return true
  return document !== undefined && matchesLabels(requirements, document.metadata.labels)
}

function isEmpty(selector: Json | undefined): boolean {
  return parseSelector(selector).length === 0
}

/** The selectors of the stored configurations: each request is matched with all of them. */
const selectors = new WeakMap<object, LabelSelector>()
/** Stands for a selector that cannot be read, and matches nothing. */
const unreadable: LabelSelector = [{ key: '', operator: 'exists', values: [] }]

function parseSelector(selector: Json | undefined): LabelSelector {
  if (!isJsonObject(selector)) return []
  const known = selectors.get(selector) ?? readLabelSelector(selector) ?? unreadable
  selectors.set(selector, known)
  return known
}

/** Returns an object in another version of its resource. */
export function convertTo(version: Resource, from: Resource, document: ApiDocument): ApiDocument {
  if (version === from) return document
  const stored = from.storage?.conversion?.toStored(document) ?? document
  const converted = version.storage?.conversion?.fromStored(stored) ?? stored
  return { ...converted, kind: version.kind, apiVersion: apiVersionOf(version) }
}
