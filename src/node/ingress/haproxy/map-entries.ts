import type { ObjectKey } from '../../../model/api-object.ts'
import type { HostPattern, HostRoutes, Route } from '../../../model/routing-table.ts'

/** The entries of one host pattern in the maps of routes. A value is `PROXY|CLASS|INGRESS`. */
export interface HostEntries {
  /** Keys are paths. */
  readonly exact: ReadonlyMap<string, string>
  /** Keys are paths without its last slash, so `''` stands for `/`. */
  readonly prefix: ReadonlyMap<string, string>
  readonly fallback?: string
}

/** Maps of haproxy: `hosts` holds known patterns, `paths` the routes, `backends` the backend that each proxy in use serves. */
export const mapNames = ['hosts', 'paths', 'backends'] as const
export type MapName = (typeof mapNames)[number]

export interface MapEntry {
  readonly map: MapName
  readonly key: string
  readonly value: string
}

/** A route that cannot be served. */
export interface RefusedRoute {
  readonly ingress: ObjectKey
  readonly reason: string
}

/** Stands for the pattern `''` in keys: no host has this name. */
export const anyHostKey = '*'

const maxPathBytes = 4096
/** Printable ASCII without `#` and `?`: haproxy answers 400 to a request with other bytes, and a path ends before `?`. */
const servablePath = /^\/[\x21\x22\x24-\x3e\x40-\x7e]*$/
const servableHost = /^(\*\.)?[a-z0-9_]([a-z0-9._-]{0,251}[a-z0-9_-])?$/
const servableObject = /^[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?\/[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?$/

/** Tells whether a host may stand in keys, in a list of certificates and in commands. */
export function isServableHost(pattern: HostPattern): boolean {
  return pattern === '' || servableHost.test(pattern)
}

/**
 * Makes the entries of one host pattern. `placeOf` returns the proxy of a backend; a route to a backend without one is left out.
 * A text that could break a line of a map or command makes the route a refused one; a host with such a text has no entries.
 */
export function hostEntries(
  pattern: HostPattern,
  routes: HostRoutes,
  placeOf: (backend: string) => string | undefined,
): { readonly entries?: HostEntries; readonly refused: readonly RefusedRoute[] } {
  const refused: RefusedRoute[] = []
  const makeValue = (route: Route, path: string): string | undefined => {
    const fault = faultOf(pattern, route, path)
    if (fault !== undefined) refused.push({ ingress: route.ingress, reason: fault })
    const place = fault === undefined ? placeOf(route.backend) : undefined
    return place && `${place}|${hostClass(pattern)}|${route.ingress}`
  }
  const valuesOf = (paths: ReadonlyMap<string, Route>) =>
    new Map(Array.from(paths, ([path, route]) => [path, makeValue(route, path)] as const).filter(hasValue))
  const fallback = routes.fallback && makeValue(routes.fallback, '')
  const entries = { exact: valuesOf(routes.exact), prefix: valuesOf(routes.prefix), ...(fallback && { fallback }) }
  return isServableHost(pattern) ? { entries, refused } : { refused }
}

/**
 * Lists the entries of a pattern as lines of maps; the pattern itself comes last, so that it is known once its routes are. haproxy looks for the
 * longest key that begins `HOSTPATH/#`: an exact path is the whole of it, a prefix ends in `/`. A fallback has the key `HOST#`, which it looks for then.
 */
export function* linesOf(pattern: HostPattern, { exact, prefix, fallback }: HostEntries): Generator<MapEntry> {
  const host = pattern === '' ? anyHostKey : pattern
  for (const [path, value] of exact) yield { map: 'paths', key: `${host}${path}/#`, value }
  for (const [path, value] of prefix) yield { map: 'paths', key: `${host}${path}/`, value }
  if (fallback !== undefined) yield { map: 'paths', key: `${host}#`, value: fallback }
  if (host !== anyHostKey) yield { map: 'hosts', key: host, value: host }
}

export type HostClass = 'exact' | 'wildcard' | 'any'

function hostClass(pattern: HostPattern): HostClass {
  if (pattern === '') return 'any'
  return pattern.startsWith('*') ? 'wildcard' : 'exact'
}

function faultOf(pattern: HostPattern, { ingress }: Route, path: string): string | undefined {
  if (!servableObject.test(ingress)) return 'its name is not a DNS name'
  if (!isServableHost(pattern)) return `haproxy cannot serve the host ${JSON.stringify(pattern)}: it is not a DNS name`
  if (path === '') return undefined
  if (path.length > maxPathBytes) return `haproxy cannot serve a path of more than ${maxPathBytes} bytes`
  if (servablePath.test(path)) return undefined
  return `haproxy cannot serve the path ${JSON.stringify(path)}: no request has it, because a path is printable ASCII without spaces, "#" and "?"`
}

function hasValue(entry: readonly [string, string | undefined]): entry is [string, string] {
  return entry[1] !== undefined
}
