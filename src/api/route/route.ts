import type { HealthEndpoint } from '../../observe/index.ts'
import { subresourceVerbsOf, verbsOf } from '../discovery/groups.ts'
import { isSwitchedOn } from '../query-switch.ts'
import type { Target } from '../request/request.ts'
import type { Registry } from '../resources/registry.ts'
import type { ConnectSubresource, Resource } from '../resources/resource.ts'
import { badRequest, methodNotAllowed, unknownPath } from '../status.ts'

export type Verb = 'create' | 'get' | 'list' | 'watch' | 'update' | 'patch' | 'delete' | 'deletecollection'

/** A request for a connection with a pod, a Service or a node. */
export interface ConnectRoute {
  readonly kind: 'connect'
  /** The verb of roles; OPTIONS has one of its own, which only `*` grants. */
  readonly verb: 'get' | 'create' | 'update' | 'patch' | 'delete' | 'options'
  readonly target: {
    readonly resource: Resource
    readonly namespace: string | undefined
    /** The name as sent; of a proxied object also scheme and port: `https:web:8443`. */
    readonly name: string
    readonly subresource: ConnectSubresource
  }
  readonly proxied: {
    /** The path of the request up to the subresource. */
    readonly prefix: string
    /** The rest of the path, as sent; `""` for nothing. */
    readonly path: string
  }
}

export type Route =
  | ConnectRoute
  | { readonly kind: 'resource'; readonly verb: Verb; readonly target: Target }
  | { readonly kind: 'discovery'; readonly path: readonly string[] }
  | { readonly kind: 'openapi'; readonly path: readonly string[] }
  | { readonly kind: 'version' }
  | { readonly kind: 'health'; readonly endpoint: HealthEndpoint; readonly component: string | undefined }
  | { readonly kind: 'metrics' }
  | { readonly kind: 'token-issuer'; readonly document: 'configuration' | 'keys' }
  | { readonly kind: 'backup' }
  | { readonly kind: 'unknown' }

/**
 * Returns the route of a request, from its method and URL alone. Throws a 405 for a method that its path does not
 * support.
 */
export function routeRequest(registry: Registry, method: string, url: URL): Route {
  const path = splitPath(url.pathname)
  const [first] = path
  if (first === 'healthz' || first === 'livez' || first === 'readyz') {
    return path.length > 2 ? { kind: 'unknown' } : { kind: 'health', endpoint: first, component: path[1] }
  }
  if (first === 'version') return readOnly(path, { kind: 'version' })
  if (first === 'metrics') return readOnly(path, { kind: 'metrics' })
  if (first === 'openapi') return { kind: 'openapi', path: path.slice(1) }
  if (first === 'platnet' && path[1] === 'backup' && path.length === 2) return { kind: 'backup' }
  if (first !== 'api' && first !== 'apis') return routeIssuer(path)
  const versionDepth = first === 'api' ? 2 : 3
  if (path.length <= versionDepth) return { kind: 'discovery', path }
  return routeResource(registry, method, url, path, versionDepth)
}

/** The paths at which OpenID Connect Discovery 1.0 expects the token issuer's configuration and its keys. */
const issuerDocuments: ReadonlyMap<string, 'configuration' | 'keys'> = new Map([
  ['.well-known/openid-configuration', 'configuration'],
  ['openid/v1/jwks', 'keys'],
])

function routeIssuer(path: readonly string[]): Route {
  const document = issuerDocuments.get(path.join('/'))
  return document === undefined ? { kind: 'unknown' } : { kind: 'token-issuer', document }
}

function readOnly(path: readonly string[], route: Route): Route {
  return path.length === 1 ? route : { kind: 'unknown' }
}

/** Splits a path into segments. It drops empty ones, so that a slash at the end changes nothing. Throws a 400 for an invalid escape. */
function splitPath(pathname: string): readonly string[] {
  try {
    return pathname
      .split('/')
      .filter((segment) => segment !== '')
      .map((segment) => (segment.includes('%') ? decodeURIComponent(segment) : segment))
  } catch (thrown) {
    throw badRequest('the path is not valid percent-encoded UTF-8', thrown)
  }
}

/** Routes a resource path. A path below `watch/` is the old form of `?watch=true`, of one object by its name too. */
function routeResource(registry: Registry, method: string, url: URL, path: readonly string[], depth: number): Route {
  const [group = '', version = ''] = depth === 2 ? ['', path[1]] : [path[1], path[2]]
  const isWatchPath = path[depth] === 'watch'
  const rest = path.slice(isWatchPath ? depth + 1 : depth)
  const isNamespaced = rest[0] === 'namespaces' && rest.length > 2 && !isSubresourceOfNamespace(rest)
  const [plural = '', name, subresource, ...more] = isNamespaced ? rest.slice(2) : rest
  const resource = registry.find(group, version, plural)
  const connect = resource?.connects?.find((each) => each === subresource)
  const isInPlace = resource !== undefined && isNamespaced === resource.namespaced && !isWatchPath
  if (isInPlace && connect !== undefined && name !== undefined) {
    const target = { resource, namespace: isNamespaced ? rest[1] : undefined, name, subresource: connect }
    return connectRoute(method, url, target, path.length - more.length)
  }
  const isSegmentBad = [rest[1], name].some((segment) => segment?.includes('/') === true)
  if (resource === undefined || more.length > 0 || isSegmentBad) throw unknownPath()
  const target = targetOf(resource, isNamespaced ? rest[1] : undefined, name, subresource)
  const verb = verbOf(method, target, isWatchPath || asksToWatch(url))
  if (isWatchPath && verb !== 'watch') throw methodNotAllowed(verb, resource)
  return { kind: 'resource', target, verb }
}

/** Routes a path in a namespace. `namespaces/x/status` is a subresource of the Namespace, not a resource in it. */
function isSubresourceOfNamespace(rest: readonly string[]): boolean {
  return rest.length === 3 && (rest[2] === 'status' || rest[2] === 'finalize')
}

const proxyMethods: Readonly<Record<string, ConnectRoute['verb']>> = {
  ...{ GET: 'get', HEAD: 'get', POST: 'create', PUT: 'update', PATCH: 'patch', DELETE: 'delete', OPTIONS: 'options' },
}
const streamMethods: Readonly<Record<string, ConnectRoute['verb']>> = { GET: 'get', POST: 'create' }
const connectMethods: Readonly<Record<ConnectSubresource, Readonly<Record<string, ConnectRoute['verb']>>>> = {
  ...{ attach: streamMethods, exec: streamMethods, portforward: streamMethods },
  log: { GET: 'get' },
  proxy: proxyMethods,
}

/** Routes a connection, whose subresource is the segment number `depth` of the path. Only a proxied path goes on after it. */
function connectRoute(method: string, url: URL, target: ConnectRoute['target'], depth: number): ConnectRoute {
  const methods = connectMethods[target.subresource]
  const verb = Object.hasOwn(methods, method) ? methods[method] : undefined
  if (verb === undefined) throw methodNotAllowed(method.toLowerCase(), target.resource)
  const prefix = new RegExp(`^(?:/+[^/]+){${depth}}`).exec(url.pathname)?.[0] ?? ''
  const path = url.pathname.slice(prefix.length)
  const isSegmentBad = [target.name, target.namespace].some((segment) => segment?.includes('/') === true)
  if (isSegmentBad || (target.subresource !== 'proxy' && /[^/]/.test(path))) throw unknownPath()
  return { kind: 'connect', verb, target, proxied: { prefix, path } }
}

function targetOf(
  resource: Resource,
  namespace: string | undefined,
  name: string | undefined,
  subresource: string | undefined,
): Target {
  const isPlaceRight = resource.namespaced ? namespace !== undefined || name === undefined : namespace === undefined
  const known = resource.subresources.find((each) => each === subresource)
  if (!isPlaceRight || (subresource !== undefined && known === undefined)) throw unknownPath()
  return { resource, namespace, name, subresource: known }
}

const itemVerbs: Readonly<Record<string, Verb>> = { GET: 'get', PUT: 'update', PATCH: 'patch', DELETE: 'delete' }
const collectionVerbs: Readonly<Record<string, Verb>> = { GET: 'list', POST: 'create', DELETE: 'deletecollection' }

const subresourceMethods: Readonly<Record<string, Verb>> = { GET: 'get', POST: 'create', PUT: 'update', PATCH: 'patch' }

function verbsFor({ name, subresource }: Target): Readonly<Record<string, Verb>> {
  if (subresource !== undefined) return subresourceMethods
  return name === undefined ? collectionVerbs : itemVerbs
}

function hasVerb({ resource, subresource }: Target, verb: Verb): boolean {
  const isLimited = verb === 'deletecollection' || resource.computed !== undefined
  if (subresource === undefined) return !isLimited || verbsOf(resource).includes(verb)
  return subresourceVerbsOf(subresource).includes(verb)
}

function asksToWatch(url: URL): boolean {
  return isSwitchedOn(url.searchParams.get('watch'))
}

function verbOf(method: string, target: Target, isWatch: boolean): Verb {
  const verbs = verbsFor(target)
  const verb = Object.hasOwn(verbs, method) ? verbs[method] : undefined
  const isAnswered = target.resource.review === undefined || verb === 'create'
  const isAllowed = verb !== undefined && isAnswered && hasVerb(target, verb)
  const isEverywhere = target.resource.namespaced && target.namespace === undefined
  if (!isAllowed || (isEverywhere && verb !== 'list')) {
    throw methodNotAllowed(verb ?? method.toLowerCase(), target.resource)
  }
  if (!isWatch || (verb !== 'list' && (verb !== 'get' || target.subresource !== undefined))) return verb
  if (target.resource.computed !== undefined) throw methodNotAllowed('watch', target.resource)
  return 'watch'
}
