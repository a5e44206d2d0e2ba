import type { JsonObject } from '../../model/api-object.ts'
import type { Registry } from '../resources/registry.ts'
import { apiVersionOf, type Resource } from '../resources/resource.ts'
import { unknownPath } from '../status.ts'
import {
  groupResources,
  kindOfSubresource,
  storageVersionHash,
  subresourcesOf,
  subresourceVerbsOf,
  verbsOf,
} from './groups.ts'

/**
 * Returns the discovery document of a path: `api`, `apis`, `api/v1`, `apis/{group}`, `apis/{group}/{version}`. `address` is where clients reach the
 * server. Throws a 404.
 */
export function discover(registry: Registry, path: readonly string[], address: string | undefined): JsonObject {
  const resources = registry.all()
  const [root, ...rest] = path
  if (root === 'api') return rest.length === 0 ? coreVersions(address) : resourceList(resources, '', rest[0])
  if (rest.length === 0) return groupList(resources)
  return rest.length === 1 ? singleGroup(resources, rest[0]) : resourceList(resources, rest[0], rest[1])
}

function coreVersions(address: string | undefined): JsonObject {
  const addresses = address === undefined ? [] : [{ clientCIDR: '0.0.0.0/0', serverAddress: address }]
  return { kind: 'APIVersions', versions: ['v1'], serverAddressByClientCIDRs: addresses }
}

function groupList(resources: readonly Resource[]): JsonObject {
  const groups = groupResources(resources)
    .filter(({ group }) => group !== '')
    .map(({ group, versions }) => toGroup(group, versions))
  return { kind: 'APIGroupList', apiVersion: 'v1', groups }
}

function singleGroup(resources: readonly Resource[], name = ''): JsonObject {
  const found = groupResources(resources).find(({ group }) => group === name)
  if (found === undefined) throw unknownPath()
  return { kind: 'APIGroup', apiVersion: 'v1', ...toGroup(found.group, found.versions) }
}

function toGroup(name: string, versions: readonly string[]): JsonObject {
  const entries = versions.map((version) => ({ groupVersion: `${name}/${version}`, version }))
  return { name, versions: entries, preferredVersion: entries[0] }
}

/** Returns the list of resources of a version. Kubernetes writes no apiVersion into that of the core group. */
function resourceList(resources: readonly Resource[], name = '', version = ''): JsonObject {
  const group = groupResources(resources).find(({ group }) => group === name)
  const found = group?.resources.filter((resource) => resource.version === version) ?? []
  const [first] = found
  if (first === undefined) throw unknownPath()
  const entries = found.flatMap((resource) => [toEntry(resource), ...subresourceEntries(resource)])
  const apiVersion = name === '' ? {} : { apiVersion: 'v1' }
  return { kind: 'APIResourceList', ...apiVersion, groupVersion: apiVersionOf(first), resources: entries }
}

/** Checks whether objects of the kind are stored: reviews and computed kinds are not. */
function isStored({ review, computed }: Resource): boolean {
  return review === undefined && computed === undefined
}

function toEntry(resource: Resource): JsonObject {
  const { plural, singular, namespaced, kind, shortNames, categories } = resource
  return {
    name: plural,
    singularName: singular,
    namespaced,
    kind,
    verbs: [...verbsOf(resource)],
    ...(shortNames.length > 0 ? { shortNames } : {}),
    ...(categories.length > 0 ? { categories } : {}),
    ...(isStored(resource) ? { storageVersionHash: storageVersionHash(resource) } : {}),
  }
}

function subresourceEntries(resource: Resource): readonly JsonObject[] {
  return subresourcesOf(resource).map((subresource) => {
    const { group, version, kind } = kindOfSubresource(resource, subresource)
    return {
      name: `${resource.plural}/${subresource}`,
      singularName: '',
      namespaced: resource.namespaced,
      ...(group === resource.group ? {} : { group, version }),
      kind,
      verbs: [...subresourceVerbsOf(subresource)],
    }
  })
}
