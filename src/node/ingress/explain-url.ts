import type { ObjectKey } from '../../model/api-object.ts'
import { collectCandidates, whyNoneAnswers } from '../../model/candidates.ts'
import { renderAddressPort } from '../../model/ip.ts'
import type { Backend, HostPattern } from '../../model/routing-table.ts'
import { explainOthers, type OtherIngress, type OthersView } from './explain-others.ts'
import { canonicalHost, matchCertificates, matchRequest, type RouteMatch } from './match.ts'
import { findPort, type ServiceSource } from './plan-backends.ts'
import { describeRoute } from './plan-claims.ts'
import type { ProblemsByIngress } from './plan-problems.ts'

/** A URL that is asked about: nothing of its path is decoded or normalised. */
export interface AskedUrl {
  readonly scheme: 'http' | 'https'
  /** In lower case, without port and last dot. */
  readonly host: string
  readonly path: string
}

export interface IngressView extends OthersView {
  readonly problems: ProblemsByIngress
  readonly services: ServiceSource
  /** The controller that an IngressClass has to name before this node listens; undefined while it listens. */
  readonly waitsFor?: string | undefined
  /** Milliseconds since 1970. */
  readonly nowMs: number
}

/** The answer to a request, in sentences and as data. */
export interface UrlExplanation {
  readonly url: AskedUrl
  /** The status of an answer that this node makes itself; absent where an endpoint answers, or nothing listens. */
  readonly status?: 404 | 503
  readonly route?: ExplainedRoute
  readonly backend?: ExplainedBackend
  /** Absent for http. Empty: TLS is not served. */
  readonly certificates?: readonly ExplainedCertificate[]
  /** The controller that no IngressClass names, so that nothing listens. */
  readonly waitsFor?: string
  /** Ingresses that have a part for this host and do not answer, and why. */
  readonly others: readonly OtherIngress[]
  readonly lines: readonly string[]
}

interface ExplainedRoute {
  readonly ingress: ObjectKey
  readonly host: HostPattern
  readonly path: string
  readonly kind: 'exact' | 'prefix' | 'default'
  /** Parts of the Ingress that are not served as they are written. */
  readonly problems: readonly string[]
}

interface ExplainedBackend extends Pick<Backend, 'service' | 'port' | 'balance' | 'protocol'> {
  readonly cookie?: string
  readonly endpoints: readonly ExplainedEndpoint[]
  /** The reason why it has no endpoint. */
  readonly problem?: string
}

interface ExplainedEndpoint {
  /** `10.0.0.1:8080` */
  readonly address: string
  /** `Pod shop/web-1` */
  readonly target?: string
  readonly node?: string
}

interface ExplainedCertificate {
  /** Empty for one that is self-signed. */
  readonly secret: ObjectKey
  readonly isDefault: boolean
  /** Whole days that it is valid from now. */
  readonly daysLeft: number
}

const dayMs = 24 * 60 * 60 * 1000
const maxNamed = 12

/** Parses an absolute URL without its query; undefined for one with a user, or with characters that no client sends. */
export function parseAskedUrl(text: string): AskedUrl | undefined {
  const match = /^(https?):\/\/([A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(:\d{1,5})?(\/[!-"$->@-~]*)?([?#][!-~]*)?$/i.exec(
    text,
  )
  const [, scheme = '', host = '', , path = '/'] = match ?? []
  if (match === null) return undefined
  return { scheme: scheme.toLowerCase() === 'https' ? 'https' : 'http', host: canonicalHost(host), path }
}

/** Explains which Ingress answers a request and with which endpoints, and why others do not. */
export function explainUrl(view: IngressView, url: AskedUrl): UrlExplanation {
  const match = matchRequest(view.table, url)
  const route = match.kind === 'none' ? undefined : explainRoute(view, match)
  const backend = match.kind === 'none' ? undefined : explainBackend(view, match.backend)
  const certificates = url.scheme === 'https' ? explainCertificates(view, url.host) : undefined
  const others = explainOthers(view, url, match)
  const explained = {
    url,
    ...(view.waitsFor !== undefined && { waitsFor: view.waitsFor }),
    ...(backend === undefined && view.waitsFor === undefined && { status: 404 as const }),
    ...(backend?.endpoints.length === 0 && { status: 503 as const }),
    ...(route !== undefined && { route }),
    ...(backend !== undefined && { backend }),
    ...(certificates !== undefined && { certificates }),
    others,
  }
  return { ...explained, lines: describe(explained) }
}

function explainRoute(
  { problems }: IngressView,
  { host, route }: RouteMatch & { readonly kind: 'route' },
): ExplainedRoute {
  const { ingress, path, kind } = route
  return { ingress, host, path, kind, problems: (problems.get(ingress) ?? []).map(({ message }) => message) }
}

function explainBackend({ services }: IngressView, backend: Backend): ExplainedBackend {
  const { service, port, balance, protocol, stickiness, endpoints } = backend
  const found = findPort(service, services.service(service), port)
  const slices = services.slicesOf(service)
  const candidates = typeof found === 'string' ? [] : collectCandidates(found, slices, false)
  const byName = new Map(candidates.map((candidate) => [candidate.name, candidate.endpoint]))
  const none = typeof found === 'string' ? found : whyNoneAnswers(found, slices)
  return {
    service,
    port,
    balance,
    protocol,
    ...(stickiness !== undefined && { cookie: stickiness.cookie }),
    endpoints: endpoints.map((endpoint) => {
      const address = renderAddressPort(endpoint.ip, endpoint.port)
      const { target, nodeName } = byName.get(address) ?? {}
      return { address, ...(target !== undefined && { target }), ...(nodeName !== undefined && { node: nodeName }) }
    }),
    ...(endpoints.length === 0 && { problem: backend.problem ?? none }),
  }
}

function explainCertificates({ table, nowMs }: IngressView, host: string): readonly ExplainedCertificate[] {
  return matchCertificates(table.certificates, host).map(({ secret, hosts, notAfterMs }) => ({
    secret,
    isDefault: hosts.length === 0,
    daysLeft: Math.floor((notAfterMs - nowMs) / dayMs),
  }))
}

function describe(explained: Omit<UrlExplanation, 'lines'>): readonly string[] {
  const { url, route, backend, waitsFor, certificates, others } = explained
  const asked = `${url.scheme}://${url.host}${url.path}`
  const named = others
    .slice(0, maxNamed)
    .map(({ ingress, reason }) => `  Ingress ${ingress} does not answer: ${reason}.`)
  const more = others.length > maxNamed ? [`  And ${others.length - maxNamed} more do not answer.`] : []
  return [
    ...(route === undefined || backend === undefined
      ? [describeUnrouted(asked, waitsFor)]
      : describeRouted(asked, route, backend)),
    ...(certificates === undefined ? [] : describeCertificates(certificates, url.host)),
    ...(route?.problems ?? [])
      .slice(0, maxNamed)
      .map((problem) => `  Ingress ${route?.ingress} has a problem: ${problem}.`),
    ...named,
    ...more,
  ]
}

function describeUnrouted(asked: string, waitsFor: string | undefined): string {
  if (waitsFor === undefined) return `${asked} gets 404: no path and no default backend of an Ingress matches it.`
  return `${asked} is not answered: nothing listens here until an IngressClass has the controller ${waitsFor}.`
}

function describeRouted(asked: string, route: ExplainedRoute, backend: ExplainedBackend): readonly string[] {
  const { service, port, endpoints, problem, protocol, balance, cookie } = backend
  const by = `by ${describeRoute(route, route.host)}, of Ingress ${route.ingress}`
  if (endpoints.length === 0)
    return [`${asked} gets 503 ${by}: port ${port} of Service ${service} has no endpoint.`, `  ${problem}.`]
  const ways = [
    protocol === 'h2c' ? 'HTTP/2 without TLS' : 'HTTP/1.1',
    balance,
    ...(cookie === undefined ? [] : [`cookie ${cookie}`]),
  ]
  return [
    `${asked} goes to port ${port} of Service ${service} ${by} (${ways.join(', ')}).`,
    ...endpoints.slice(0, maxNamed).map(({ address, target, node }) => {
      const where = [target, node && `on ${node}`].filter(Boolean).join(' ')
      return `  endpoint ${address}${where === '' ? '' : ` (${where})`}`
    }),
    ...(endpoints.length > maxNamed ? [`  and ${endpoints.length - maxNamed} more endpoints`] : []),
  ]
}

function describeCertificates(certificates: readonly ExplainedCertificate[], host: string): readonly string[] {
  if (certificates.length === 0) return [`  No certificate is there for ${host}, and no default one: TLS fails.`]
  return certificates.map(({ secret, isDefault, daysLeft }) => {
    const which = secret === '' ? 'a self-signed certificate' : `the certificate of Secret ${secret}`
    const why = isDefault ? `, the default: no Ingress has a valid one for ${host}` : ''
    return `  TLS shows ${which} (valid for ${daysLeft} more days)${why}.`
  })
}
