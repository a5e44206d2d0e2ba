import type { RequestListener } from 'node:http'
import type { Component } from '../loop/component.ts'
import { answerHealth, type HealthEndpoint, type Logger, type Metrics } from '../observe/index.ts'
import { type AccessRule, guard } from './access.ts'
import { createRouter, type GetHandler } from './router.ts'

export interface AgentEndpoints {
  readonly metrics: Metrics
  /** Returns what the node and its containers use, in Prometheus' text format. */
  readonly usage: () => string
  /** The `/configz` document, secrets already redacted. */
  readonly configz: () => unknown
  readonly components: () => readonly Component[]
  /** For `/metrics` and `/configz`; health is open to all. */
  readonly access: AccessRule
  readonly log: Logger
}

/** `/metrics`, `/metrics/resource`, `/configz`, `/healthz`, `/livez`, `/readyz` (also `/readyz/<component>`) of a node agent. */
export function createAgentEndpoints({
  metrics,
  usage,
  configz,
  components,
  access,
  log,
}: AgentEndpoints): RequestListener {
  return createRouter(
    {
      '/metrics': guard(access, 'metrics', async () => ({ status: 200, ...(await metrics.text()) })),
      '/metrics/resource': guard(access, 'metrics', () => ({ status: 200, contentType: usageType, body: usage() })),
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

const usageType = 'text/plain; version=0.0.4; charset=utf-8'

/** `/metrics` and health of a part of the server. */
export function createComponentEndpoints({
  metrics,
  components,
  access,
  log,
}: Omit<AgentEndpoints, 'configz' | 'usage'>): RequestListener {
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
