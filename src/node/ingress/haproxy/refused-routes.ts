import type { ObjectKey } from '../../../model/api-object.ts'
import type { HostPattern } from '../../../model/routing-table.ts'
import type { RoutingRefusal } from '../driver.ts'
import type { RefusedRoute } from './map-entries.ts'

/** The routes that cannot be served, by host pattern, so that a change of one host replaces its own. */
export class RefusedRoutes {
  readonly #byHost = new Map<HostPattern, readonly RefusedRoute[]>()

  static of(routes: ReadonlyMap<HostPattern, readonly RefusedRoute[]>): RefusedRoutes {
    const refused = new RefusedRoutes()
    refused.set(routes)
    return refused
  }

  set(routes: ReadonlyMap<HostPattern, readonly RefusedRoute[]>): void {
    for (const [host, refused] of routes) {
      if (refused.length === 0) this.#byHost.delete(host)
      else this.#byHost.set(host, refused)
    }
  }

  /** One refusal for each Ingress: its first reason. */
  all(): readonly RoutingRefusal[] {
    const reasons = new Map<ObjectKey, string>()
    for (const routes of this.#byHost.values())
      for (const { ingress, reason } of routes) if (!reasons.has(ingress)) reasons.set(ingress, reason)
    return Array.from(reasons, ([key, reason]): RoutingRefusal => ({ kind: 'Ingress', key, reason }))
  }
}
