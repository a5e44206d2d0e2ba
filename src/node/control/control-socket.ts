import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import { z } from 'zod'
import type { Logger } from '../../observe/index.ts'
import { createRouter, type Listener, type RoutedRequest, type TextAnswer, unixListener } from '../../serve/index.ts'
import type { AppliedRevisions, WatchedResource } from '../state/index.ts'

export interface ControlParts {
  readonly path: string
  readonly applied: AppliedRevisions
  /** Builds the document of `GET /status`. */
  readonly status: () => unknown
  /** Further queries by path; each receives the query of the URL. */
  readonly queries?: Readonly<Record<string, (query: URLSearchParams) => Promise<ControlAnswer>>>
  /** Handles requests of platnet-gate; without it the path does not exist. */
  readonly gate?: {
    answer(request: { headers: IncomingHttpHeaders; body: string; signal: AbortSignal }): Promise<GateReply>
  }
  readonly log: Logger
}

/** An answer; its body is sent as JSON. */
export interface ControlAnswer {
  readonly status: 200 | 400 | 404 | 503
  readonly body: unknown
}

interface GateReply {
  readonly status: number
  readonly body: string
}

/** Limit of a body; a network list with its result has a few kilobytes. */
const maxGateBytes = 1024 * 1024

const watchedResources = ['services', 'endpointslices', 'endpoints'] as const satisfies readonly WatchedResource[]

const appliedQuery = z.object({
  resource: z.enum(watchedResources),
  resourceVersion: z.string().regex(/^[1-9]\d*$/, 'expected a resourceVersion, a positive decimal number'),
  timeoutMs: z.coerce.number().int().min(0).max(600_000).default(30_000),
})

/**
 * Creates the unix socket of the running agent, for this user alone. `GET /status` returns what the node serves; `GET
 * /applied?resource=endpointslices&resourceVersion=N&timeoutMs=M` answers 200 once the kernel has that change, 504 if not in time.
 */
export function createControlSocket({ path, applied, status, queries = {}, gate, log }: ControlParts): Listener {
  const routes = Object.entries(queries).map(([route, answer]) => [
    route,
    async ({ query }: RoutedRequest) => {
      const reply = await answer(query)
      return jsonAnswer(reply.status, reply.body)
    },
  ])
  const handler = createRouter(
    {
      '/status': () => jsonAnswer(200, status()),
      '/applied': (request) => answerApplied(applied, request),
      ...Object.fromEntries(routes),
    },
    (error, route) => log.error('a control request failed', { route, error }),
    gate ? { '/cni/gate': (request) => answerGate(gate, request) } : {},
  )
  return unixListener({ name: 'control', path, handler, log })
}

async function answerApplied(applied: AppliedRevisions, { query, message }: RoutedRequest): Promise<TextAnswer> {
  const parsed = appliedQuery.safeParse(Object.fromEntries(query))
  if (!parsed.success) return jsonAnswer(400, { error: z.prettifyError(parsed.error) })
  const { resource, resourceVersion, timeoutMs } = parsed.data
  const gone = whenDisconnected(message)
  const signal = AbortSignal.any([gone.signal, AbortSignal.timeout(timeoutMs)])
  try {
    await applied.waitUntilApplied(resource, resourceVersion, { signal })
    return jsonAnswer(200, { applied: true, ...parsed.data })
  } catch (error) {
    if (!signal.aborted) throw error
    return jsonAnswer(504, { applied: false, ...parsed.data, revisions: applied.report() })
  } finally {
    gone.forget()
  }
}

async function answerGate(gate: NonNullable<ControlParts['gate']>, { message }: RoutedRequest): Promise<TextAnswer> {
  const gone = whenDisconnected(message)
  try {
    const body = await readBody(message)
    if (body === undefined) return { status: 413, body: `expected at most ${maxGateBytes} bytes\n` }
    return await gate.answer({ headers: message.headers, body, signal: gone.signal })
  } finally {
    gone.forget()
  }
}

/** Reads the body; undefined if it exceeds the limit. */
async function readBody(message: IncomingMessage): Promise<string | undefined> {
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of message) {
    bytes += chunk.length
    if (bytes > maxGateBytes) return undefined
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString('utf8')
}

/** Returns a signal that aborts when the client disconnects. */
function whenDisconnected({ socket }: IncomingMessage): { readonly signal: AbortSignal; forget(): void } {
  const gone = new AbortController()
  const abandon = () => gone.abort()
  socket.once('close', abandon)
  return { signal: gone.signal, forget: () => socket.off('close', abandon) }
}

function jsonAnswer(status: number, body: unknown): TextAnswer {
  return { status, contentType: 'application/json', body: `${JSON.stringify(body)}\n` }
}
