import { type FieldSelector, parseFieldSelector, SelectorError } from '../../model/selector.ts'
import type { Route } from '../route/route.ts'

/** The attributes of a request, in the terms that roles use. */
export type Attributes = ResourceAttributes | PathAttributes

export interface ResourceAttributes {
  readonly kind: 'resource'
  readonly verb: string
  readonly group: string
  /** The plural name, with its subresource: `pods`, `pods/status`. */
  readonly resource: string
  /** The namespace; `""` for cluster scope and for all namespaces. */
  readonly namespace: string
  /** The name of the object; `""` when the request names none. The field selector of a list or watch can name one. */
  readonly name: string
  /** The field selector that limits a list or watch. */
  readonly fieldSelector: FieldSelector
}

/** A path that is not a resource, such as `/metrics`. */
export interface PathAttributes {
  readonly kind: 'path'
  readonly verb: string
  readonly path: string
}

/** Returns the attributes of a request. A Namespace counts as an object inside itself, so that a Role in it can grant access to it. */
export function attributesOf(route: Route, method: string, url: URL): Attributes {
  if (route.kind !== 'resource' && route.kind !== 'connect')
    return { kind: 'path', verb: method.toLowerCase(), path: url.pathname }
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

/** Returns the value that the selector requires of the field, undefined when it allows several values. */
export function equalTo(selector: FieldSelector, field: string): string | undefined {
  return selector.find((requirement) => requirement.field === field && requirement.operator === '=')?.value
}

/** Returns the field selector that the list or watch uses: the first one when the URL holds several. */
function fieldSelectorOf(route: Route, url: URL): FieldSelector {
  const isSelecting = route.kind === 'resource' && (route.verb === 'list' || route.verb === 'watch')
  try {
    return isSelecting ? parseFieldSelector(url.searchParams.get('fieldSelector') ?? '') : []
  } catch (thrown) {
    if (thrown instanceof SelectorError) return []
    throw thrown
  }
}

/** Returns the phrase of a 403 message: `cannot get resource "pods" in API group "" in the namespace "n"`. */
export function describeDenial(attributes: Attributes): string {
  if (attributes.kind === 'path') return `cannot ${attributes.verb} path ${JSON.stringify(attributes.path)}`
  const { verb, resource, group, namespace } = attributes
  const place = namespace === '' ? 'at the cluster scope' : `in the namespace ${JSON.stringify(namespace)}`
  return `cannot ${verb} resource ${JSON.stringify(resource)} in API group ${JSON.stringify(group)} ${place}`
}
