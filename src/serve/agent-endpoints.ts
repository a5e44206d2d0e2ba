import type { RequestListener } from 'node:http'
import type { Component } from '../loop/component.ts'
import { answerHealth, type HealthEndpoint, type Logger, type Metrics } from '../observe/index.ts'
import { type AccessRule, guard } from './access.ts'
import { createRouter, type GetHandler } from './router.ts'

export interface AgentEndpoints {
  readonly metrics: Metrics
  /** The `/configz` document, secrets already redacted. */
  readonly configz: () => unknown
  readonly components: () => readonly Component[]
  /** For `/metrics` and `/configz`; health is open to all. */
  readonly access: AccessRule
  readonly log: Logger
}

/** `/metrics`, `/configz`, `/healthz`, `/livez`, `/readyz` (also `/readyz/<component>`) of a node agent. */
export function createAgentEndpoints({ metrics, configz, components, access, log }: AgentEndpoints): RequestListener {
  return createRouter(
    {
      '/metrics': guard(access, 'metrics', async () => ({ status: 200, ...(await metrics.text()) })),
      '/configz': guard(access, 'configz', () => ({
        status: 200,
        contentType: 'application/json',
        body: `${JSON.stringify(configz(), undefined, 2)}\n`,
      })),
      ...allHealthRoutes(components),
    },
    (error, path) => log.error('an endpoint failed', { path, error }),
  )
}

/** `/metrics` and health of a part of the server. */
export function createComponentEndpoints({
  metrics,
  components,
  access,
  log,
}: Omit<AgentEndpoints, 'configz'>): RequestListener {
  const scrape = guard(access, 'metrics', async () => ({ status: 200, ...(await metrics.text()) }))
  return createRouter({ ...allHealthRoutes(components), '/metrics': scrape }, (error, path) =>
    log.error('an endpoint failed', { path, error }),
  )
}

function allHealthRoutes(components: () => readonly Component[]): Record<string, GetHandler> {
  return {
    ...healthRoutes('healthz', components),
    ...healthRoutes('livez', components),
    ...healthRoutes('readyz', components),
  }
}

function healthRoutes(endpoint: HealthEndpoint, components: () => readonly Component[]): Record<string, GetHandler> {
  const handler: GetHandler = ({ query, below }) => {
    const component = below === undefined || below === '' ? {} : { component: below }
    const verbose = query.has('verbose')
    const exclude = query.getAll('exclude').flatMap((names) => names.split(','))
    return answerHealth({ endpoint, verbose, exclude, ...component }, components())
  }
  return { [`/${endpoint}`]: handler, [`/${endpoint}/*`]: handler }
}
