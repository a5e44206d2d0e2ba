import { type FieldSelector, parseFieldSelector, SelectorError } from '../../model/selector.ts'
import type { Route } from '../route/route.ts'

/** What somebody wants to do, in the terms that roles speak. */
export type Attributes = ResourceAttributes | PathAttributes

export interface ResourceAttributes {
  readonly kind: 'resource'
  readonly verb: string
  readonly group: string
  /** The plural, with its subresource: `pods`, `pods/status`. */
  readonly resource: string
  /** `""` for cluster scope and for all namespaces. */
  readonly namespace: string
  /** `""` where the request names no object; a list or watch names one by its field selector. */
  readonly name: string
  /** Which objects a list or watch is limited to. */
  readonly fieldSelector: FieldSelector
}

/** A path that is no resource: `/metrics`. */
export interface PathAttributes {
  readonly kind: 'path'
  readonly verb: string
  readonly path: string
}

/** A Namespace counts as being in itself, so that a Role in it can grant it. */
export function attributesOf(route: Route, method: string, url: URL): Attributes {
  if (route.kind !== 'resource') return { kind: 'path', verb: method.toLowerCase(), path: url.pathname }
  const { resource, namespace, subresource } = route.target
  const fieldSelector = fieldSelectorOf(route, url)
  const name = route.target.name ?? equalTo(fieldSelector, 'metadata.name') ?? ''
  const own = resource.group === '' && resource.plural === 'namespaces' ? name : ''
  return {
    kind: 'resource',
    verb: route.verb,
    group: resource.group,
    resource: subresource === undefined ? resource.plural : `${resource.plural}/${subresource}`,
    namespace: namespace ?? own,
    name,
    fieldSelector,
  }
}

/** The value a field must have to be selected, undefined where it may have several. */
export function equalTo(selector: FieldSelector, field: string): string | undefined {
  return selector.find((requirement) => requirement.field === field && requirement.operator === '=')?.value
}

/** The one that the list or watch will go by: the last, should there be several. */
function fieldSelectorOf(route: Route, url: URL): FieldSelector {
  const isSelecting = route.kind === 'resource' && (route.verb === 'list' || route.verb === 'watch')
  try {
    return isSelecting ? parseFieldSelector(url.searchParams.getAll('fieldSelector').at(-1) ?? '') : []
  } catch (thrown) {
    if (thrown instanceof SelectorError) return []
    throw thrown
  }
}

/** `cannot get resource "pods" in API group "" in the namespace "n"`, as in the message of a 403. */
export function describeDenial(attributes: Attributes): string {
  if (attributes.kind === 'path') return `cannot ${attributes.verb} path ${JSON.stringify(attributes.path)}`
  const { verb, resource, group, namespace } = attributes
  const place = namespace === '' ? 'at the cluster scope' : `in the namespace ${JSON.stringify(namespace)}`
  return `cannot ${verb} resource ${JSON.stringify(resource)} in API group ${JSON.stringify(group)} ${place}`
}
