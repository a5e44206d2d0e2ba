import type { ObjectKey } from '../../model/api-object.ts'
import type { Ingress } from '../../model/ingress.ts'
import type { HostPattern, RoutingTable } from '../../model/routing-table.ts'
import { hostPatterns, type RequestTarget, type RouteMatch } from './match.ts'
import type { ClassVerdict } from './own-ingresses.ts'
import { type Claim, claimsOf, compareAge, describeRoute, isMissed, placeOf, routeKey } from './plan-claims.ts'

export interface OthersView {
  readonly table: RoutingTable
  /** Every Ingress that can be read, of foreign classes too. */
  readonly ingresses: () => Iterable<Ingress>
  readonly classOf: (ingress: Ingress) => ClassVerdict
}

/** A part of an Ingress that does not answer a request though it is for its host. */
export interface OtherIngress {
  readonly ingress: ObjectKey
  readonly code: 'foreign-class' | 'older-ingress' | 'more-specific-host' | 'more-specific-path' | 'other-path'
  /** A clause: `its prefix /x is not a prefix of the path`. */
  readonly reason: string
}

/** Reasons in the order in which they matter to a reader. */
const ranks: Readonly<Record<OtherIngress['code'], number>> = {
  'older-ingress': 0,
  'foreign-class': 1,
  'more-specific-host': 2,
  'more-specific-path': 3,
  'other-path': 4,
}

interface Question {
  readonly path: string
  readonly match: RouteMatch
  /** The most specific pattern that has routes. */
  readonly chosen: HostPattern | undefined
}

/** The reasons why parts of Ingresses for a host do not answer a request, the most interesting first. */
export function explainOthers(
  view: OthersView,
  { host, path }: RequestTarget,
  match: RouteMatch,
): readonly OtherIngress[] {
  const patterns = hostPatterns(host)
  const question = { path, match, chosen: patterns.find((pattern) => view.table.hosts.has(pattern)) }
  return [...view.ingresses()]
    .sort(compareAge)
    .flatMap((ingress) => {
      const claims = claimsOf(ingress).filter((claim) => patterns.includes(claim.host))
      const verdict = view.classOf(ingress)
      return claims.flatMap((claim) => {
        const found = verdict.kind === 'ours' ? explainOurs(claim, question) : explainForeign(verdict, claim, question)
        return found === undefined ? [] : { ingress: ingress.key, ...found }
      })
    })
    .sort((a, b) => ranks[a.code] - ranks[b.code])
}

type Reason = Omit<OtherIngress, 'ingress'>

function explainForeign(
  verdict: Exclude<ClassVerdict, { kind: 'ours' }>,
  claim: Claim,
  question: Question,
): Reason | undefined {
  const isAsked = claim.place === 'default' ? question.match.kind === 'none' : matchesPath(claim, question.path)
  return isAsked ? { code: 'foreign-class', reason: describeClass(verdict) } : undefined
}

function describeClass(verdict: Exclude<ClassVerdict, { kind: 'ours' }>): string {
  if (verdict.kind === 'no-class') return 'it has no class, and there was no default class when it was created'
  if (verdict.kind === 'unknown-class') return `its class ${verdict.className} does not exist`
  return `its class ${verdict.className} is that of another controller, ${verdict.controller}`
}

function explainOurs(claim: Claim, { path, match, chosen }: Question): Reason | undefined {
  const served = match.kind === 'route' ? match : undefined
  const isSamePlace = served !== undefined && claim.host === served.host && claim.place === placeOf(served.route)
  if (isSamePlace && claim.ingress.key === served.route.ingress && claim.route.path === served.route.path)
    return undefined
  if (claim.place === 'default' && !(isSamePlace && isMissed(claim))) return undefined
  const what = describeRoute(claim.route, claim.host)
  if (isSamePlace) return { code: 'older-ingress', reason: `Ingress ${served.route.ingress} has ${what} already` }
  const isFor = matchesPath(claim, path)
  if (claim.host !== chosen) {
    const reason = `${what} stands behind the rules of the more specific host ${chosen}`
    return isFor ? { code: 'more-specific-host', reason } : undefined
  }
  if (!isFor) return { code: 'other-path', reason: `${what} does not match` }
  const winner = served && describeRoute(served.route, served.host)
  return { code: 'more-specific-path', reason: `${winner} goes before ${what}` }
}

function matchesPath({ route }: Claim, path: string): boolean {
  if (route.kind === 'exact') return route.path === path
  return path === routeKey(route) || path.startsWith(`${routeKey(route)}/`)
}
