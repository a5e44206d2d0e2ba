import { createHash } from 'node:crypto'
import { apiVersionOf, type Resource } from '../resources/resource.ts'

const resourceVerbs = ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'] as const
/** While a definition clears up after itself. */
const terminatingVerbs = ['delete', 'deletecollection', 'get', 'list', 'watch'] as const

/** What can be done with objects of the kind. */
export function verbsOf({ review, isTerminating }: Resource): readonly string[] {
  if (isTerminating === true) return terminatingVerbs
  return review === undefined ? resourceVerbs : ['create']
}

const ownVerbs: Readonly<Record<string, readonly string[]>> = {
  binding: ['create'],
  eviction: ['create'],
  finalize: ['update'],
  token: ['create'],
}

/** What can be done with a subresource. */
export function subresourceVerbsOf(subresource: string): readonly string[] {
  return ownVerbs[subresource] ?? ['get', 'patch', 'update']
}

export interface ResourceGroup {
  readonly group: string
  /** The preferred one first. */
  readonly versions: readonly string[]
  readonly resources: readonly Resource[]
}

/** The resources by group, in order of first appearance. */
export function groupResources(resources: readonly Resource[]): readonly ResourceGroup[] {
  return [...Map.groupBy(resources, ({ group }) => group)].map(([group, members]) => ({
    group,
    versions: orderVersions(members),
    resources: members,
  }))
}

function orderVersions(resources: readonly Resource[]): readonly string[] {
  const ordered = [...new Set(resources.map(({ version }) => version))].toSorted(compareVersions)
  const preferred = resources.find((resource) => resource.isPreferred === true)?.version
  return preferred === undefined ? ordered : [preferred, ...ordered.filter((version) => version !== preferred)]
}

export interface GroupVersionKind {
  readonly group: string
  readonly version: string
  readonly kind: string
}

/** What a subresource is read and written as, where that is not its own kind. */
const subresourceKinds: Readonly<Record<string, GroupVersionKind>> = {
  scale: { group: 'autoscaling', version: 'v1', kind: 'Scale' },
  binding: { group: '', version: 'v1', kind: 'Binding' },
  eviction: { group: 'policy', version: 'v1', kind: 'Eviction' },
}

export function kindOfSubresource(resource: Resource, subresource: string): GroupVersionKind {
  const own = subresource === 'token' ? resource.tokenRequest : undefined
  const { group, version, kind } = own ?? resource
  return subresourceKinds[subresource] ?? { group, version, kind }
}

/** The same as long as objects are stored as the same kind and version: 8 bytes, base64. */
export function storageVersionHash(resource: Resource): string {
  const storedAs = `${resource.storage?.apiVersion ?? apiVersionOf(resource)}/${resource.kind}`
  return createHash('sha256').update(storedAs).digest().subarray(0, 8).toString('base64')
}

/** Stable before beta before alpha, higher numbers first: v2, v1, v1beta1, v1alpha1. */
export function compareVersions(a: string, b: string): number {
  const [left, right] = [rankVersion(a), rankVersion(b)]
  return right.stability - left.stability || right.major - left.major || right.minor - left.minor || (a < b ? -1 : 1)
}

function rankVersion(version: string): { stability: number; major: number; minor: number } {
  const match = /^v(\d+)(?:(alpha|beta)(\d+))?$/.exec(version)
  if (match === null) return { stability: 0, major: 0, minor: 0 }
  const stabilities: Readonly<Record<string, number>> = { alpha: 1, beta: 2 }
  return { stability: stabilities[match[2] ?? ''] ?? 3, major: Number(match[1]), minor: Number(match[3] ?? 0) }
}
