import { createHash } from 'node:crypto'
import type { ConnectSubresource, Resource, Subresource } from '../resources/resource.ts'

const resourceVerbs = ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'] as const
/** The verbs of custom resources, in the order of Kubernetes. */
const customVerbs = ['delete', 'deletecollection', 'get', 'list', 'patch', 'create', 'update', 'watch'] as const
/** The verbs while a definition cleans up its instances. */
const terminatingVerbs = ['delete', 'deletecollection', 'get', 'list', 'watch'] as const

/** Returns the verbs of a kind. */
export function verbsOf({ review, computed, isTerminating, isCustom, deletesOneByOne }: Resource): readonly string[] {
  if (isTerminating === true) return terminatingVerbs
  if (isCustom === true) return customVerbs
  if (review !== undefined) return ['create']
  if (computed !== undefined) return ['get', 'list']
  return deletesOneByOne === true ? resourceVerbs.filter((verb) => verb !== 'deletecollection') : resourceVerbs
}

const ownVerbs: Readonly<Record<string, readonly string[]>> = {
  binding: ['create'],
  eviction: ['create'],
  finalize: ['update'],
  token: ['create'],
  ...{ attach: ['create', 'get'], exec: ['create', 'get'], log: ['get'], portforward: ['create', 'get'] },
  proxy: ['create', 'delete', 'get', 'patch', 'update'],
}

/** Returns the verbs of a subresource. */
export function subresourceVerbsOf(subresource: string): readonly string[] {
  return ownVerbs[subresource] ?? ['get', 'patch', 'update']
}

export interface ResourceGroup {
  readonly group: string
  /** The versions, the preferred one first. */
  readonly versions: readonly string[]
  readonly resources: readonly Resource[]
}

/** The order of groups, by the first label of their names: a client that looks for a resource in all groups takes the first group that has it. */
const groupOrder = [
  ...['', 'apps', 'events', 'authentication', 'authorization', 'autoscaling', 'batch', 'certificates', 'networking'],
  ...['policy', 'rbac', 'storage', 'admissionregistration', 'apiextensions', 'scheduling', 'coordination', 'node'],
  'discovery',
]

/** Returns the resources by group: built-in groups in the order of Kubernetes, then those of definitions by name; resources by name. */
export function groupResources(resources: readonly Resource[]): readonly ResourceGroup[] {
  return [...Map.groupBy(resources, ({ group }) => group)]
    .toSorted(([a, [first]], [b, [second]]) => rankGroup(first) - rankGroup(second) || compareTexts(a, b))
    .map(([group, members]) => ({
      group,
      versions: orderVersions(members),
      resources: members.toSorted((a, b) => compareTexts(a.plural, b.plural)),
    }))
}

function rankGroup(resource: Resource | undefined): number {
  const rank = resource?.isCustom === true ? -1 : groupOrder.indexOf(resource?.group.split('.', 1)[0] ?? '')
  return rank < 0 ? groupOrder.length : rank
}

function compareTexts(a: string, b: string): number {
  if (a === b) return 0
  return a < b ? -1 : 1
}

/** Returns the subresources in the order of Kubernetes: by name, for a custom resource the status first. */
export function subresourcesOf({
  subresources,
  connects = [],
  isCustom,
}: Resource): readonly (Subresource | ConnectSubresource)[] {
  return isCustom === true ? subresources : [...subresources, ...connects].toSorted()
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

/** The kinds of subresources that are read and written as another kind than their resource. */
const subresourceKinds: Readonly<Record<string, GroupVersionKind>> = {
  scale: { group: 'autoscaling', version: 'v1', kind: 'Scale' },
  binding: { group: '', version: 'v1', kind: 'Binding' },
  eviction: { group: 'policy', version: 'v1', kind: 'Eviction' },
}

/** The kinds of the options of connections, after the kind of the object: `PodExecOptions`. */
const optionKinds: Readonly<Record<string, string>> = {
  attach: 'AttachOptions',
  exec: 'ExecOptions',
  portforward: 'PortForwardOptions',
  proxy: 'ProxyOptions',
}

export function kindOfSubresource(resource: Resource, subresource: string): GroupVersionKind {
  const own = subresource === 'token' ? resource.tokenRequest : undefined
  const { group, version, kind } = own ?? resource
  const options = optionKinds[subresource]
  if (options !== undefined) return { group, version, kind: `${kind}${options}` }
  return subresourceKinds[subresource] ?? { group, version, kind }
}

/** Returns a hash that stays while objects are stored as the same kind and version: 8 bytes, base64. */
export function storageVersionHash({ group, version, kind, storage }: Resource): string {
  const storedAs = `${storage?.apiVersion ?? `${group}/${version}`}/${kind}`
  return createHash('sha256').update(storedAs).digest().subarray(0, 8).toString('base64')
}

/** Compares versions: stable before beta before alpha, higher numbers first: v2, v1, v1beta1, v1alpha1. */
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
