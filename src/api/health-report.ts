/** One part that must be well for the server to be; `failure` says what is wrong. */
export interface HealthCheck {
  readonly name: string
  readonly failure?: string
}

export interface HealthReport {
  readonly httpCode: 200 | 500
  readonly body: string
}

/** The plain text of `/healthz`, `/livez` and `/readyz`; causes go to the log and not to whoever asks. */
export function reportHealth(endpoint: string, checks: readonly HealthCheck[], query: URLSearchParams): HealthReport {
  const excluded = query.getAll('exclude')
  const counted = checks.filter(({ name }) => !excluded.includes(name))
  const isWell = counted.every(({ failure }) => failure === undefined)
  if (isWell && !query.has('verbose')) return { httpCode: 200, body: 'ok' }
  const lines = counted.map(({ name, failure }) =>
    failure === undefined ? `[+]${name} ok` : `[-]${name} failed: reason withheld`,
  )
  const verdict = `${endpoint} check ${isWell ? 'passed' : 'failed'}`
  return { httpCode: isWell ? 200 : 500, body: `${[...lines, verdict].join('\n')}\n` }
}
