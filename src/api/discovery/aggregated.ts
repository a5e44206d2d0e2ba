import type { JsonObject } from '../../model/api-object.ts'
import type { Resource } from '../resources/resource.ts'
import { groupResources, kindOfSubresource, type ResourceGroup, subresourceVerbsOf, verbsOf } from './groups.ts'

/** The media type of the aggregated document, which clients must be told. */
export const aggregatedContentType = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList'

/** Everything that is served under `/api` (the core group) or under `/apis` (all others), in one document. */
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
      freshness: 'Current',
      resources: resources.filter((resource) => resource.version === version).map(toResource),
    })),
  }
}

function toResource(resource: Resource): JsonObject {
  return {
    resource: resource.plural,
    responseKind: responseKind(resource),
    scope: resource.namespaced ? 'Namespaced' : 'Cluster',
    singularResource: resource.singular,
    verbs: [...verbsOf(resource)],
    shortNames: [...resource.shortNames],
    categories: [...resource.categories],
    subresources: resource.subresources.map((subresource) => ({
      subresource,
      responseKind: { ...kindOfSubresource(resource, subresource) },
      verbs: [...subresourceVerbsOf(subresource)],
    })),
  }
}

function responseKind({ group, version, kind }: Resource): JsonObject {
  return { group, version, kind }
}
