import type { Stages } from '../../loop/time-slice.ts'
import type { ObjectKey } from '../../model/api-object.ts'
import type { Ingress } from '../../model/ingress.ts'
import type { HostPattern, HostRoutes, Route } from '../../model/routing-table.ts'
import { type Claim, claimsOf, compareAge, conflictsOf, routeKey } from './plan-claims.ts'
import type { ProblemsByIngress } from './plan-problems.ts'
import { withValues } from './sorted-map.ts'

export interface HostStep {
  /** Undefined for a host that goes. */
  readonly changed: ReadonlyMap<HostPattern, HostRoutes | undefined>
  /** Problems by host and place; empty for a place without conflict. */
  readonly conflicts: ReadonlyMap<string, ProblemsByIngress>
  /** Claims that were served before the step, and now. */
  readonly before: readonly Claim[]
  readonly after: readonly Claim[]
}

/** The claims of one host. */
interface PlannedHost {
  /** Keys are places; lists are sorted but for places that are touched. */
  readonly claims: Map<string, Claim[]>
  /** Places whose claims differ, with the one that was served. */
  readonly touched: Map<string, Claim | undefined>
  /** Our Ingresses with a rule for it: also a rule without paths takes the host from less specific patterns. */
  readonly ingresses: Set<ObjectKey>
  routes: HostRoutes | undefined
}

const noRoutes: HostRoutes = { exact: new Map(), prefix: new Map(), longestPrefix: 0 }

/** Keeps the routes of all hosts; an Ingress that changes has the places that it claims planned again. */
export class PlannedHosts {
  readonly #hosts = new Map<HostPattern, PlannedHost>()
  readonly #touched = new Set<HostPattern>()

  /** Takes another version of an Ingress; undefined where it is none of ours or gone. */
  replace(before: Ingress | undefined, after: Ingress | undefined): void {
    for (const { host } of before?.rules ?? []) this.#touch(host).ingresses.delete(before?.key ?? '')
    for (const claim of before === undefined ? [] : onePerPlace(claimsOf(before))) this.#remove(claim)
    for (const { host } of after?.rules ?? []) this.#touch(host).ingresses.add(after?.key ?? '')
    for (const claim of after === undefined ? [] : claimsOf(after)) this.#placeOf(claim).push(claim)
  }

  /** Plans the touched places again, a host at a time. */
  *finish(): Stages<HostStep> {
    const changed = new Map<HostPattern, HostRoutes | undefined>()
    const step = {
      changed,
      conflicts: new Map<string, ProblemsByIngress>(),
      before: [] as Claim[],
      after: [] as Claim[],
    }
    for (const host of this.#touched) {
      const planned = this.#touch(host)
      const routes = finishHost(host, planned, step)
      if (routes !== planned.routes) changed.set(host, routes)
      planned.routes = routes
      if (routes === undefined) this.#hosts.delete(host)
      yield
    }
    this.#touched.clear()
    return step
  }

  #touch(host: HostPattern): PlannedHost {
    this.#touched.add(host)
    const known = this.#hosts.get(host)
    if (known !== undefined) return known
    const planned = { claims: new Map(), touched: new Map(), ingresses: new Set<ObjectKey>(), routes: undefined }
    this.#hosts.set(host, planned)
    return planned
  }

  /** Removes all claims of an Ingress to a place. */
  #remove(claim: Claim): void {
    const claims = this.#placeOf(claim)
    const kept = claims.filter(({ ingress }) => ingress.key !== claim.ingress.key)
    this.#hosts.get(claim.host)?.claims.set(claim.place, kept)
  }

  #placeOf({ host, place }: Claim): Claim[] {
    const { claims, touched } = this.#touch(host)
    const found = claims.get(place) ?? []
    claims.set(place, found)
    if (!touched.has(place)) touched.set(place, found[0])
    return found
  }
}

function onePerPlace(claims: readonly Claim[]): Iterable<Claim> {
  return new Map(claims.map((claim) => [`${claim.host} ${claim.place}`, claim])).values()
}

/** Returns the routes of a host, the same object where none differs; undefined where no Ingress names it. */
function finishHost(
  host: HostPattern,
  { claims, touched, ingresses, routes }: PlannedHost,
  step: { readonly conflicts: Map<string, ProblemsByIngress>; readonly before: Claim[]; readonly after: Claim[] },
): HostRoutes | undefined {
  const differing = { exact: new Map<string, Route | undefined>(), prefix: new Map<string, Route | undefined>() }
  for (const [place, before] of touched) {
    const all = claims.get(place)?.sort((a, b) => compareAge(a.ingress, b.ingress)) ?? []
    if (all.length === 0) claims.delete(place)
    const [after] = all
    step.conflicts.set(`${host} ${place}`, conflictsOf(all))
    if (before !== undefined) step.before.push(before)
    if (after !== undefined) step.after.push(after)
    const { kind, path } = (after ?? before)?.route ?? { kind: 'default', path: '' }
    if (kind !== 'default' && !sameRoute(before?.route, after?.route))
      differing[kind].set(routeKey({ kind, path }), after?.route)
  }
  touched.clear()
  if (ingresses.size + claims.size === 0) return undefined
  return withRoutes(routes, differing, claims.get('default')?.[0]?.route)
}

interface DifferingRoutes {
  readonly exact: ReadonlyMap<string, Route | undefined>
  readonly prefix: ReadonlyMap<string, Route | undefined>
}

function withRoutes(
  before: HostRoutes | undefined,
  differing: DifferingRoutes,
  fallback: Route | undefined,
): HostRoutes {
  const known = before ?? noRoutes
  const isFallback = sameRoute(known.fallback, fallback)
  if (before !== undefined && isFallback && differing.exact.size + differing.prefix.size === 0) return before
  const prefix = withValues(known.prefix, differing.prefix)
  const kept = isFallback ? known.fallback : fallback
  return {
    exact: withValues(known.exact, differing.exact),
    prefix,
    longestPrefix: prefix.keys().reduce((longest, key) => Math.max(longest, key.length), 0),
    ...(kept !== undefined && { fallback: kept }),
  }
}

function sameRoute(a: Route | undefined, b: Route | undefined): boolean {
  return a?.ingress === b?.ingress && a?.backend === b?.backend && a?.path === b?.path && a?.kind === b?.kind
}
