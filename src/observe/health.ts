import type { Component, Health, HealthLevel } from '../loop/component.ts'

export type HealthEndpoint = 'healthz' | 'livez' | 'readyz'

/** A component, or a part of one that reports its own health. */
export type HealthCheck = Pick<Component, 'name' | 'health'>

export interface HealthRequest {
  readonly endpoint: HealthEndpoint
  /** The part of the path after the endpoint: one component alone. */
  readonly component?: string
  readonly verbose: boolean
  /** Components that the request excludes. */
  readonly exclude: readonly string[]
}

export interface HealthAnswer {
  readonly status: 200 | 404 | 500
  readonly body: string
}

/** A part that has not started yet is alive but not ready; a degraded one still does its work. */
const failingLevels: Readonly<Record<HealthEndpoint, readonly HealthLevel[]>> = {
  healthz: ['unknown', 'stopped'],
  livez: ['stopped'],
  readyz: ['unknown', 'stopped'],
}

/** The answer of a health endpoint in the form of the Kubernetes API server: `ok`, or one line for each component. */
export function answerHealth(request: HealthRequest, components: readonly HealthCheck[]): HealthAnswer {
  const { endpoint, component, exclude } = request
  if (component !== undefined) return answerOne(endpoint, component, components)
  const asked = components.filter(({ name }) => !exclude.includes(name))
  const reports = asked.map((part) => report(endpoint, part.name, part.health()))
  const hasFailed = reports.some(({ failed }) => failed)
  if (!hasFailed && !request.verbose) return { status: 200, body: 'ok' }
  const unmatched = exclude.filter((name) => !components.some((known) => known.name === name))
  const lines = [
    ...reports.map(({ line }) => line),
    ...unmatched.map((name) => `warn: nothing excluded: no component named ${JSON.stringify(name)}`),
    `${endpoint} check ${hasFailed ? 'failed' : 'passed'}`,
  ]
  return { status: hasFailed ? 500 : 200, body: `${lines.join('\n')}\n` }
}

function answerOne(endpoint: HealthEndpoint, name: string, components: readonly HealthCheck[]): HealthAnswer {
  const component = components.find((known) => known.name === name)
  if (component === undefined) return { status: 404, body: `${endpoint}: no component named ${JSON.stringify(name)}\n` }
  const { line, failed } = report(endpoint, name, component.health())
  return failed ? { status: 500, body: `${line}\n` } : { status: 200, body: 'ok' }
}

function report(endpoint: HealthEndpoint, name: string, { level, message }: Health): { line: string; failed: boolean } {
  const reason = `${level}${message === '' ? '' : `: ${message.replaceAll(/\s+/g, ' ')}`}`
  if (failingLevels[endpoint].includes(level)) return { line: `[-]${name} failed: ${reason}`, failed: true }
  return { line: level === 'ok' ? `[+]${name} ok` : `[+]${name} ok (${reason})`, failed: false }
}
