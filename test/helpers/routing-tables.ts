import type { ObjectKey } from '../../src/model/api-object.ts'
import type { Ip } from '../../src/model/ip.ts'
import type { Backend, HostRoutes, Route, RoutingTable } from '../../src/model/routing-table.ts'

interface HostSketch {
  readonly exact?: readonly string[]
  readonly prefix?: readonly string[]
  readonly fallback?: true
}

/** A table in which each route has a backend of its own with one endpoint. */
export function routingTable(sketch: Readonly<Record<string, HostSketch>>): RoutingTable {
  const backends = new Map<string, Backend>()
  const routeTo = (path: string, kind: Route['kind']): Route => {
    const backend = backendNumber(backends.size + 1)
    backends.set(backend.id, backend)
    return { ingress: 'default/test' as ObjectKey, backend: backend.id, path, kind }
  }
  const hosts = Object.entries(sketch).map(([host, { exact = [], prefix = [], fallback }]) => {
    const routes: HostRoutes = {
      exact: new Map(exact.map((path) => [path, routeTo(path, 'exact')])),
      prefix: new Map(prefix.map((path) => [path.replace(/\/$/, ''), routeTo(path, 'prefix')])),
      longestPrefix: Math.max(0, ...prefix.map((path) => path.replace(/\/$/, '').length)),
      ...(fallback && { fallback: routeTo('', 'default') }),
    }
    return [host, routes] as const
  })
  return { hosts: new Map(hosts), backends, certificates: [] }
}

function backendNumber(number: number): Backend {
  return {
    id: `default_web-${number}_80`,
    service: `default/web-${number}` as ObjectKey,
    port: '80',
    endpoints: [{ ip: '127.0.0.1' as Ip, port: 8000 + number }],
    balance: 'round-robin',
    protocol: 'http1',
  }
}
