import type { IncomingMessage } from 'node:http'
import type { Dialect } from '../model/dialect.ts'
import { answerHealth, type HealthCheck, type Metrics } from '../observe/index.ts'
import { describeIssuer } from './access/describe-issuer.ts'
import { DiscoveryDocuments } from './discovery/discovery-documents.ts'
import type { EncodedAnswer } from './encode/answer.ts'
import { OpenApiDocuments } from './openapi/open-api-documents.ts'
import type { Route } from './route/route.ts'
import { unknownPath } from './status.ts'
import type { VerbContext } from './verbs/verb-context.ts'
import { versionInfo } from './version.ts'

export interface PageParts {
  readonly context: Pick<VerbContext, 'registry' | 'tokenIssuer'>
  readonly dialect: Dialect
  /** Returns the address at which clients reach the server; undefined where it is unknown. */
  readonly address: () => string | undefined
  readonly components: () => readonly HealthCheck[]
  readonly metrics: Metrics
}

/** The paths that are no resource and no stream. */
type PageRoute = Exclude<Route, { kind: 'resource' } | { kind: 'connect' } | { kind: 'backup' }>

/** Answers that need no verb: health, metrics, version, discovery, OpenAPI, the issuer of tokens. */
export class Pages {
  readonly #parts: PageParts
  readonly #discovery: DiscoveryDocuments
  readonly #openApi: OpenApiDocuments

  constructor(parts: PageParts) {
    this.#parts = parts
    this.#discovery = new DiscoveryDocuments(parts.context.registry, parts.address)
    this.#openApi = new OpenApiDocuments(parts.context.registry, parts.dialect.name)
  }

  async read(route: PageRoute, request: IncomingMessage, url: URL): Promise<EncodedAnswer> {
    const { context, components, metrics } = this.#parts
    switch (route.kind) {
      case 'health': {
        const { status, body } = answerHealth(healthRequest(route, url.searchParams), components())
        return { httpCode: status, body, contentType: 'text/plain; charset=utf-8' }
      }
      case 'metrics':
        return { httpCode: 200, ...(await metrics.text()) }
      case 'token-issuer':
        return describeIssuer(context.tokenIssuer, route.document)
      case 'version':
        return { httpCode: 200, body: JSON.stringify(versionInfo), contentType: 'application/json' }
      case 'discovery':
        return this.#discovery.answer(route.path, request.headers)
      case 'openapi':
        return this.#openApi.answer(route.path, url.searchParams.get('hash'), request.headers)
      case 'unknown':
        throw unknownPath()
    }
  }
}

function healthRequest(route: Route & { kind: 'health' }, query: URLSearchParams) {
  return {
    endpoint: route.endpoint,
    verbose: query.has('verbose'),
    exclude: query.getAll('exclude').flatMap((names) => names.split(',')),
    ...(route.component === undefined ? {} : { component: route.component }),
  }
}
