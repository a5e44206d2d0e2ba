import type {
  Backend,
  HostPattern,
  HostRoutes,
  Route,
  RoutingTable,
  ServedCertificate,
} from '../../model/routing-table.ts'

/** A request as the client sent it. */
export interface RequestTarget {
  /** The Host header or `:authority`; with or without a port, in any case. */
  readonly host: string
  /** The path as sent, before `?`: nothing of it is decoded or normalised. */
  readonly path: string
}

export type RouteMatch =
  | { readonly kind: 'route'; readonly host: HostPattern; readonly route: Route; readonly backend: Backend }
  /** No Ingress answers: 404. `host` is the pattern that was chosen, if any. */
  | { readonly kind: 'none'; readonly host?: HostPattern }

/**
 * Finds the route of a request, the truth that every driver is held against: the most specific host pattern first, then an exact path,
 * then the longest prefix, then the default backend of that host, then the default backend of all.
 */
export function matchRequest(table: RoutingTable, { host, path }: RequestTarget): RouteMatch {
  const pattern = chooseHost(table.hosts, canonicalHost(host))
  const routes = pattern === undefined ? undefined : table.hosts.get(pattern)
  const own = routes && (findPath(routes, path) ?? routes.fallback)
  const route = own ?? table.hosts.get('')?.fallback
  const backend = route && table.backends.get(route.backend)
  if (route === undefined || backend === undefined)
    return { kind: 'none', ...(pattern !== undefined && { host: pattern }) }
  return { kind: 'route', host: own === undefined ? '' : (pattern ?? ''), route, backend }
}

/** Cuts the port and one last dot, and writes letters small. An IPv6 address keeps its brackets. */
export function canonicalHost(host: string): string {
  const withoutPort = host.replace(/:\d*$/, '')
  return (withoutPort.endsWith('.') ? withoutPort.slice(0, -1) : withoutPort).toLowerCase()
}

/** The most specific pattern that has routes; undefined where none fits. */
function chooseHost(hosts: RoutingTable['hosts'], host: string): HostPattern | undefined {
  return hostPatterns(host).find((pattern) => hosts.has(pattern))
}

/** The patterns that stand for a host, the most specific first. */
export function hostPatterns(host: string): readonly HostPattern[] {
  const dot = host.indexOf('.')
  return dot > 0 ? [host, `*${host.slice(dot)}`, ''] : [host, '']
}

/** The certificates of the most specific pattern that has one for a name that a client asks for (SNI); else the default ones. */
export function matchCertificates(
  certificates: RoutingTable['certificates'],
  host: string,
): readonly ServedCertificate[] {
  const named = hostPatterns(host)
    .map((pattern) => certificates.filter(({ hosts }) => hosts.includes(pattern)))
    .find((found) => found.length > 0)
  return named ?? certificates.filter(({ hosts }) => hosts.length === 0)
}

function findPath({ exact, prefix, longestPrefix }: HostRoutes, path: string): Route | undefined {
  const whole = exact.get(path) ?? (path.length <= longestPrefix ? prefix.get(path) : undefined)
  if (whole !== undefined) return whole
  for (let slash = path.lastIndexOf('/', longestPrefix); slash >= 0; slash = path.lastIndexOf('/', slash - 1)) {
    const route = prefix.get(path.slice(0, slash))
    if (route !== undefined) return route
    if (slash === 0) return undefined
  }
  return undefined
}
