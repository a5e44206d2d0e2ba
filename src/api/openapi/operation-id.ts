import type { ConnectSubresource, Resource, Subresource } from '../resources/resource.ts'

/** The actions, in the words of `x-kubernetes-action`. */
export type Action = 'get' | 'list' | 'post' | 'put' | 'patch' | 'delete' | 'deletecollection'

/** A path of a resource, and the actions that it supports. */
export interface Place {
  readonly path: string
  readonly actions: readonly Action[]
  readonly resource: Resource
  readonly subresource?: Subresource | ConnectSubresource
  /** True for a path that covers all namespaces. */
  readonly isEverywhere?: boolean
}

const words: Readonly<Record<Action, string>> = {
  ...{ get: 'read', list: 'list', post: 'create', put: 'replace', patch: 'patch', delete: 'delete' },
  deletecollection: 'delete',
}

/** Returns the name of a method in generated clients, in the format of Kubernetes: `listAppsV1NamespacedDeployment`. */
export function operationId(action: Action, { resource, subresource, isEverywhere }: Place): string {
  const { namespaced, kind, version } = resource
  return [
    words[action],
    capitalize(groupWord(resource)),
    capitalize(version),
    action === 'deletecollection' ? 'Collection' : '',
    namespaced && isEverywhere !== true ? 'Namespaced' : '',
    kind,
    subresource === undefined ? '' : capitalize(subresource),
    isEverywhere === true ? 'ForAllNamespaces' : '',
  ].join('')
}

/** Returns the name of a connection's method: `connectCoreV1GetNamespacedPodProxyWithPath`. */
export function connectionId(
  method: string,
  { resource, subresource, hasPath }: { resource: Resource; subresource: ConnectSubresource; hasPath: boolean },
): string {
  return [
    'connect',
    capitalize(groupWord(resource)),
    capitalize(resource.version),
    capitalize(method),
    resource.namespaced ? 'Namespaced' : '',
    resource.kind,
    capitalize(subresource),
    hasPath ? 'WithPath' : '',
  ].join('')
}

/** Returns the tag that groups operations in generated clients: `apps_v1`, `richExampleCom_v1`. */
export function operationTag(resource: Resource): string {
  return `${groupWord(resource)}_${resource.version}`
}

/** Returns `networking` for `networking.k8s.io`, `richExampleCom` for `rich.example.com`. */
function groupWord({ group }: Resource): string {
  if (group === '') return 'core'
  const [first = '', ...labels] = group.replace(/\.k8s\.io$/, '').split(/[.-]/)
  return first + labels.map(capitalize).join('')
}

function capitalize(word: string): string {
  return word.charAt(0).toUpperCase() + word.slice(1)
}
