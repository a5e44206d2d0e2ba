import http from 'node:http'
import { text } from 'node:stream/consumers'
import { PlatnetError } from '../../model/errors.ts'
import type { UrlExplanation } from '../../node/ingress/index.ts'
import type { AgentCounters } from '../composition/agent-counters.ts'
import type { AgentStatus } from '../composition/agent-status.ts'
import type { FlowAnswer } from '../composition/flow-question.ts'
import type { PlanAnswer, ServiceAnswer } from '../composition/proxy-questions.ts'

export class AskError extends PlatnetError<'agent-away' | 'no-access' | 'bad-question' | 'not-found' | 'bad-answer'> {}

/** Asks the agent on the control socket for its status. Throws AskError; `agent-away` if no agent listens, `no-access` if this user may not ask. */
export function askStatus(controlSocket: string): Promise<AgentStatus> {
  return ask(controlSocket, '/status')
}

/** Asks for the totals of the agent. Throws AskError. */
export function askCounters(controlSocket: string): Promise<AgentCounters> {
  return ask(controlSocket, '/counters')
}

/** Asks for the options in force, secrets left out. Throws AskError. */
export function askConfigz(controlSocket: string): Promise<unknown> {
  return ask(controlSocket, '/configz')
}

/** Asks for the metrics of the agent as Prometheus reads them. Throws AskError. */
export function askMetrics(controlSocket: string): Promise<{ readonly text: string }> {
  return ask(controlSocket, '/metrics')
}

/** Asks how the kernel's rules differ from the wanted ones. Throws AskError. */
export function askPlan(controlSocket: string): Promise<PlanAnswer> {
  return ask(controlSocket, '/plan')
}

export interface FlowQuestion {
  readonly source: string
  readonly destination: string
  /** Absent for ICMP. */
  readonly port?: string
  readonly protocol: 'TCP' | 'UDP' | 'SCTP' | 'ICMP'
  /** The interface that the packet comes in on; by default the one on the route back to the source. */
  readonly inInterface?: string
}

/** Asks what becomes of a connection. Throws AskError, also for a question that the agent rejects. */
export function askFlow(controlSocket: string, question: FlowQuestion): Promise<FlowAnswer> {
  return ask(controlSocket, `/explain/flow?${new URLSearchParams({ ...question })}`)
}

/** Asks where a Service leads. Throws AskError; `not-found` if there is no such Service. */
export function askService(controlSocket: string, service: string): Promise<ServiceAnswer> {
  return ask(controlSocket, `/explain/service?${new URLSearchParams({ service })}`)
}

/** Asks which Ingress answers a request for a URL. Throws AskError, also for a text that is no URL. */
export function askUrl(controlSocket: string, url: string): Promise<UrlExplanation> {
  return ask(controlSocket, `/explain/url?${new URLSearchParams({ url })}`)
}

/** Answer of `GET /dns/explain`. */
export interface DnsExplanation {
  /** The plugin that answered: `kubernetes`, `cache`, `forward`, … */
  readonly plugin: string
  readonly ageMs: number
  /** The object behind the answer (`Service default/web`) and the time of its last change (ms since 1970). */
  readonly object?: string
  readonly changedAtMs?: number
}

/** Asks how this node answers a DNS question. Throws AskError. */
export function askDnsExplanation(controlSocket: string, name: string, type: string): Promise<DnsExplanation> {
  return ask(controlSocket, `/dns/explain?${new URLSearchParams({ name, type })}`)
}

/** Tells whether an agent listens on the control socket. */
export async function isAgentThere(controlSocket: string): Promise<boolean> {
  return askStatus(controlSocket).then(
    () => true,
    (error) => !(error instanceof AskError && error.code === 'agent-away'),
  )
}

async function ask<Answer>(controlSocket: string, path: string): Promise<Answer> {
  const { status, body } = await getOverSocket(controlSocket, path)
  if (status === 200) return JSON.parse(body)
  if (status === 400) throw new AskError('bad-question', reasonOf(body))
  if (status === 404) throw new AskError('not-found', reasonOf(body))
  throw new AskError('bad-answer', `the agent answered ${status}: ${reasonOf(body)}`, {
    object: controlSocketName(controlSocket),
  })
}

function reasonOf(body: string): string {
  const error = /^\{"error":("(?:[^"\\]|\\.)*")\}$/.exec(body.trim())?.[1]
  return error === undefined ? body.trim() : String(JSON.parse(error))
}

async function getOverSocket(socketPath: string, path: string): Promise<{ status: number; body: string }> {
  const { promise, resolve, reject } = Promise.withResolvers<http.IncomingMessage>()
  http.get({ socketPath, path, timeout: 60_000 }, resolve).on('error', reject)
  try {
    const response = await promise
    return { status: response.statusCode ?? 0, body: await text(response) }
  } catch (cause) {
    if (isRefusal(cause)) throw refusedSocket(socketPath, cause)
    throw new AskError('agent-away', 'no agent answers on its control socket', {
      object: controlSocketName(socketPath),
      remedy: 'start it with "platnet run", or name its socket with --control-socket',
      cause,
    })
  }
}

/** Tells whether the system refused the socket to this user: an agent may well be there. */
function isRefusal(cause: unknown): boolean {
  return cause instanceof Error && 'code' in cause && (cause.code === 'EACCES' || cause.code === 'EPERM')
}

function refusedSocket(socketPath: string, cause: unknown): AskError {
  return new AskError('no-access', 'this user may not ask the agent', {
    object: controlSocketName(socketPath),
    remedy: 'run it as root: the control socket belongs to root alone',
    cause,
  })
}

function controlSocketName(path: string): string {
  return `control socket ${path}`
}
