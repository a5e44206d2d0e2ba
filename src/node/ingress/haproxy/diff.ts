import type { HostPattern, RoutingChange, RoutingTable } from '../../../model/routing-table.ts'
import { certificateHash, findDefaultCertificate } from './certificates.ts'
import type { Command } from './command.ts'
import { diffBackends, isOfProfile } from './diff-backends.ts'
import { diffCertificates } from './diff-certificates.ts'
import { diffRoutes } from './diff-routes.ts'
import type { Holding } from './holding.ts'
import { type HostEntries, hostEntries, type RefusedRoute } from './map-entries.ts'
import { profileOf } from './profile.ts'

/** The way from what haproxy holds to a table. */
export type Difference =
  | {
      readonly kind: 'commands'
      /** In the order in which they have to be given: what is new serves before what is old goes. */
      readonly commands: readonly Command[]
      /** The holding after them. */
      readonly holding: Holding
      /** The routes of the compared hosts that cannot be served. */
      readonly refused: ReadonlyMap<HostPattern, readonly RefusedRoute[]>
    }
  | {
      readonly kind: 'reload'
      /** A sentence without a full stop. */
      readonly reason: string
    }

/** The most bytes of one command; what is longer needs a reload. */
export interface CommandLimit {
  readonly maxCommandBytes: number
}

/**
 * Compares what haproxy holds with a table: all of it, or the parts that `change` names. Needs a reload where the runtime socket cannot do what is
 * needed: no spare proxy is left, a default certificate comes or goes, a certificate is too long for a command.
 */
export function diffTable(held: Holding, table: RoutingTable, limit: CommandLimit, change?: RoutingChange): Difference {
  const ids = change?.backends ?? new Set([...held.places.keys(), ...table.backends.keys()])
  const backends = diffBackends(held, table.backends, ids)
  if (backends.missing !== undefined)
    return { kind: 'reload', reason: `no spare backend of the kind ${backends.missing} is left` }
  const isAll = change === undefined || movesBackend(held, table, change.backends)
  const patterns = isAll ? new Set([...held.routes.keys(), ...table.hosts.keys()]) : change.hosts
  const { routes, refused } = wantedRoutes(held, table, patterns, (id) => backends.places.get(id))
  const routing = diffRoutes(held, routes, patterns)
  const certificates = (change?.certificates ?? true) ? diffCertificates(held, table.certificates, limit) : undefined
  if (certificates !== undefined && 'reload' in certificates) return { kind: 'reload', reason: certificates.reload }
  const commands = [
    ...(certificates?.before ?? []),
    ...backends.before,
    ...routing.before,
    ...routing.after,
    ...backends.after,
    ...(certificates?.after ?? []),
  ]
  const fallback = certificates === undefined ? held.defaultCertificate : hashOfDefault(table)
  const holding: Holding = {
    proxies: backends.proxies,
    places: backends.places,
    routes,
    certificates: certificates?.certificates ?? held.certificates,
    ...(fallback !== undefined && { defaultCertificate: fallback }),
  }
  return { kind: 'commands', commands, holding, refused }
}

function hashOfDefault({ certificates }: RoutingTable): string | undefined {
  const certificate = findDefaultCertificate(certificates)
  return certificate && certificateHash(certificate.chainPem)
}

/** A backend whose profile changed gets another proxy, which every route to it has to name. */
function movesBackend(held: Holding, { backends }: RoutingTable, ids: Iterable<string>): boolean {
  return Array.from(ids).some((id) => {
    const backend = backends.get(id)
    const place = held.places.get(id)
    const profile = backend && profileOf(backend)
    return place !== undefined && backend !== undefined && !(profile && isOfProfile(place, profile))
  })
}

function wantedRoutes(
  held: Holding,
  table: RoutingTable,
  patterns: Iterable<HostPattern>,
  placeOf: (id: string) => string | undefined,
): { readonly routes: Map<HostPattern, HostEntries>; readonly refused: Map<HostPattern, readonly RefusedRoute[]> } {
  const routes = new Map(held.routes)
  const refused = new Map<HostPattern, readonly RefusedRoute[]>()
  for (const pattern of patterns) {
    const hostRoutes = table.hosts.get(pattern)
    const made = hostRoutes && hostEntries(pattern, hostRoutes, placeOf)
    if (made?.entries === undefined) routes.delete(pattern)
    else routes.set(pattern, made.entries)
    refused.set(pattern, made?.refused ?? [])
  }
  return { routes, refused }
}
