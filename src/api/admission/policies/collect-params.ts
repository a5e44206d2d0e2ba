import type { Json } from '../../../model/api-object.ts'
import { matchesLabels, readLabelSelector } from '../../../model/selector.ts'
import { type ApiDocument, textAt, valueAt } from '../../document.ts'
import { collectionPrefix, storeKey } from '../../resources/keys.ts'
import type { Registry } from '../../resources/registry.ts'
import { apiVersionOf, type Resource } from '../../resources/resource.ts'
import { parseStored, withRevision } from '../../resources/stored-text.ts'
import type { Store, StoredEntry } from '../../store/index.ts'
import type { ParamKind } from './policy.ts'

/** A fault of a policy or binding in itself; the failure policy decides about the request. */
export class ConfigurationError extends Error {}

/** Returns the resource of a policy's parameters; undefined where it is not served. */
export function findParamResource(registry: Registry, { apiVersion, kind }: ParamKind): Resource | undefined {
  return registry
    .all()
    .find((each) => each.kind === kind && apiVersionOf(each) === apiVersion && each.review === undefined)
}

/** Returns the error of a policy whose kind of parameters is not served. */
export function unknownParamKind({ apiVersion, kind }: ParamKind): ConfigurationError {
  const shown = apiVersion.includes('/') ? apiVersion : `/${apiVersion}`
  return new ConfigurationError(`failed to find resource referenced by paramKind: '${shown}, Kind=${kind}'`)
}

/**
 * Reads the parameters of a binding for a request in a namespace (`""`: of the cluster). Without a paramRef there is
 * one evaluation without parameters. Rejects with a ConfigurationError.
 */
export async function collectParams(
  store: Store,
  resource: Resource,
  paramRef: Json | undefined,
  requestNamespace: string,
): Promise<readonly (ApiDocument | undefined)[]> {
  if (paramRef === undefined || paramRef === null) return [undefined]
  const namespace = namespaceOf(resource, textAt(paramRef, 'namespace'), requestNamespace)
  const [name, selector] = [textAt(paramRef, 'name'), valueAt(paramRef, 'selector')]
  if (name === '' && selector === undefined) throw new ConfigurationError('one of name or selector must be provided')
  const found =
    name === '' ? await select(store, resource, namespace, selector) : await readNamed(store, resource, namespace, name)
  if (found.length > 0 || textAt(paramRef, 'parameterNotFoundAction') !== 'Deny') return found
  throw new ConfigurationError('no params found for policy binding with `Deny` parameterNotFoundAction')
}

function namespaceOf(resource: Resource, given: string, requestNamespace: string): string | undefined {
  if (!resource.namespaced) {
    if (given === '') return undefined
    throw new ConfigurationError('paramRef.namespace must not be provided for a cluster-scoped `paramKind`')
  }
  if (given !== '' || requestNamespace !== '') return given || requestNamespace
  throw new ConfigurationError('cannot use namespaced paramRef in policy binding that matches cluster-scoped resources')
}

async function readNamed(store: Store, resource: Resource, namespace: string | undefined, name: string) {
  const entry = await store.get(storeKey(resource, namespace, name))
  return entry === undefined ? [] : [documentOf(resource, entry)]
}

async function select(store: Store, resource: Resource, namespace: string | undefined, selector: Json | undefined) {
  const requirements = readLabelSelector(selector ?? {})
  if (requirements === undefined) throw new ConfigurationError('the selector of paramRef is not valid')
  const { entries } = await store.range(collectionPrefix(resource, namespace))
  const all = entries.map((entry) => documentOf(resource, entry))
  return all.filter(({ metadata }) => matchesLabels(requirements, metadata.labels))
}

function documentOf(resource: Resource, entry: StoredEntry): ApiDocument {
  return withRevision(parseStored(resource, entry), entry.revision)
}
