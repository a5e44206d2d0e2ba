import type { JsonObject } from '../../model/api-object.ts'
import type { Resource } from '../resources/resource.ts'
import {
  groupResources,
  kindOfSubresource,
  type ResourceGroup,
  subresourcesOf,
  subresourceVerbsOf,
  verbsOf,
} from './groups.ts'

/** The parameters of the media type that request this document. */
export const aggregatedParameters = 'g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList'

/** Returns one document of everything served under `/api` (the core group) or under `/apis` (all others). */
export function toAggregated(resources: readonly Resource[], isCore: boolean): JsonObject {
  const groups = groupResources(resources).filter(({ group }) => (group === '') === isCore)
  return {
    kind: 'APIGroupDiscoveryList',
    apiVersion: 'apidiscovery.k8s.io/v2',
    metadata: {},
    items: groups.map(toItem),
  }
}

function toItem({ group, versions, resources }: ResourceGroup): JsonObject {
  return {
    metadata: group === '' ? {} : { name: group },
    versions: versions.map((version) => ({
      version,
      resources: resources.filter((resource) => resource.version === version).map(toResource),
      freshness: 'Current',
    })),
  }
}

function toResource(resource: Resource): JsonObject {
  const { plural, singular, namespaced, shortNames, categories } = resource
  const subresources = subresourcesOf(resource)
  return {
    resource: plural,
    responseKind: responseKind(resource, resource),
    scope: namespaced ? 'Namespaced' : 'Cluster',
    singularResource: singular,
    verbs: [...verbsOf(resource)],
    ...(shortNames.length === 0 ? {} : { shortNames }),
    ...(categories.length === 0 ? {} : { categories }),
    ...(subresources.length === 0 ? {} : { subresources: subresources.map((name) => toSubresource(resource, name)) }),
  }
}

function toSubresource(resource: Resource, subresource: string): JsonObject {
  return {
    subresource,
    responseKind: responseKind(resource, kindOfSubresource(resource, subresource)),
    verbs: [...subresourceVerbsOf(subresource)],
  }
}

/** Returns the kind of an answer. For a built-in kind of the path's own group and version both are empty. */
function responseKind(
  parent: Resource,
  { group, version, kind }: Pick<Resource, 'group' | 'version' | 'kind'>,
): JsonObject {
  const isParents = parent.isCustom !== true && group === parent.group && version === parent.version
  return isParents ? { group: '', version: '', kind } : { group, version, kind }
}
