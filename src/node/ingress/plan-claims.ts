import type { ObjectKey } from '../../model/api-object.ts'
import type { Ingress, IngressBackend, IngressPath } from '../../model/ingress.ts'
import type { HostPattern, Route } from '../../model/routing-table.ts'
import { type WantedBackend, wantBackend } from './plan-backends.ts'
import type { IngressProblem, ProblemsByIngress } from './plan-problems.ts'

/** A path or default backend of an Ingress at one host. Of claims to one place that of the oldest Ingress is served, of one Ingress the first. */
export interface Claim {
  readonly ingress: Ingress
  readonly host: HostPattern
  /** `exact /x`, `prefix /x` or `default`: claims of one host with one place exclude each other. */
  readonly place: string
  readonly route: Route
  readonly backend: WantedBackend
  /** Where it stands: `spec.rules[0].http.paths[1]`. */
  readonly field: string
}

/** Orders Ingresses by age, the older first; those of one age by key. */
export function compareAge(a: Ingress, b: Ingress): number {
  const [ageA, ageB] = [a.createdAtMs ?? Number.POSITIVE_INFINITY, b.createdAtMs ?? Number.POSITIVE_INFINITY]
  if (ageA !== ageB) return ageA < ageB ? -1 : 1
  return a.key < b.key ? -1 : a.key > b.key ? 1 : 0
}

/** The key of a path in `HostRoutes`. */
export function routeKey({ path, kind }: Pick<Route, 'path' | 'kind'>): string {
  return kind === 'prefix' && path.endsWith('/') ? path.slice(0, -1) : path
}

/** `exact /x`, `prefix /x` or `default`. */
export function placeOf(route: Pick<Route, 'path' | 'kind'>): string {
  return route.kind === 'default' ? 'default' : `${route.kind} ${routeKey(route)}`
}

/** The claims of an Ingress: its paths, and its default backend at each of its hosts and, as `''`, at those that no Ingress names. */
export function claimsOf(ingress: Ingress): readonly Claim[] {
  const paths = ingress.rules.flatMap(({ host, paths: list }) => list.map((path) => ({ host, path })))
  const claims = paths.map(({ host, path }) => claimPath(ingress, host, path))
  const { defaultBackend } = ingress
  if (defaultBackend === undefined) return claims
  const hosts = new Set(['', ...ingress.rules.map(({ host }) => host)])
  return [...claims, ...[...hosts].map((host) => claimDefault(ingress, host, defaultBackend))]
}

function claimPath(ingress: Ingress, host: HostPattern, { path, kind, backend, field }: IngressPath): Claim {
  return { ...claim(ingress, backend, { path, kind }), host, place: placeOf({ path, kind }), field }
}

function claimDefault(ingress: Ingress, host: HostPattern, backend: IngressBackend): Claim {
  const made = claim(ingress, backend, { path: '', kind: 'default' })
  return { ...made, host, place: placeOf(made.route), field: 'spec.defaultBackend' }
}

function claim(ingress: Ingress, wanted: IngressBackend, { path, kind }: Pick<Route, 'path' | 'kind'>) {
  const backend = wantBackend(ingress, wanted)
  return { ingress, backend, route: { ingress: ingress.key, backend: backend.id, path, kind } }
}

/** The problems of the claims to one place that are not served. */
export function conflictsOf([winner, ...losers]: readonly Claim[]): ProblemsByIngress {
  const problems = new Map<ObjectKey, IngressProblem[]>()
  for (const loser of winner === undefined ? [] : losers.filter(isMissed)) {
    const list = problems.get(loser.ingress.key) ?? []
    list.push({ reason: 'RouteConflict', message: describeConflict(winner as Claim, loser) })
    problems.set(loser.ingress.key, list)
  }
  return problems
}

/** Checks whether an Ingress lacks what it claims: the default backend of one with hosts need not serve the hosts that no Ingress names. */
export function isMissed({ place, host, ingress }: Claim): boolean {
  return place !== 'default' || host !== '' || ingress.rules.every((rule) => rule.host === '')
}

function describeConflict(winner: Claim, { ingress, field, host, route }: Claim): string {
  const isOwn = winner.ingress.key === ingress.key
  const whose = isOwn ? `${winner.field} of this Ingress` : `the older Ingress ${winner.ingress.key}`
  return `${field}: ${whose} has ${describeRoute(route, host)} already`
}

/** `the prefix /x of shop.example.com` */
export function describeRoute({ kind, path }: Pick<Route, 'path' | 'kind'>, host: HostPattern): string {
  if (kind === 'default') return `the default backend of ${host === '' ? 'hosts without one' : host}`
  return `the ${kind === 'exact' ? 'exact path' : 'prefix'} ${path} of ${host === '' ? 'any host' : host}`
}
