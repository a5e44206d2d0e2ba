import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { describeError } from '../model/errors.ts'
import { type AccessRule, refusal } from './access.ts'
import { sendAnswer } from './router.ts'

interface PodLogRequest {
  readonly namespace: string
  readonly pod: string
  readonly container: string
  readonly previous: boolean
}

interface PodLogOptions {
  readonly follow: boolean
  readonly tail: number | undefined
  /** Aborts when the client is gone. */
  readonly signal: AbortSignal
}

export interface PodEndpoints {
  readonly access: AccessRule
  /** Returns the output as it comes. Throws before the first part where there is none, with words for the client. */
  readonly readLog: (request: PodLogRequest, options: PodLogOptions) => AsyncIterable<Buffer>
}

const logPath = /^\/containerLogs\/(?<namespace>[^/]+)\/(?<pod>[^/]+)\/(?<container>[^/]+)$/
const streamPath = /^\/(exec|attach|portForward)\//

/**
 * Serves `/containerLogs/NAMESPACE/POD/CONTAINER` as a kubelet does (`follow`, `previous`, `tailLines`, `limitBytes`), and
 * says that the kubelet's other doors to pods are not offered. Other requests are for `otherwise`.
 */
export function createPodEndpoints(parts: PodEndpoints, otherwise: RequestListener): RequestListener {
  return (request, response) => {
    const url = URL.parse(request.url ?? '/', 'http://localhost')
    const place = logPath.exec(url?.pathname ?? '')?.groups
    if (url !== null && place !== undefined) void serveLog(parts, { request, response, url, place })
    else if (streamPath.test(url?.pathname ?? '')) sendAnswer(request, response, notOffered)
    else otherwise(request, response)
  }
}

const notOffered = {
  status: 501,
  body: 'exec, attach and port-forward are not offered: this node runs pods as processes\n',
}

interface LogExchange {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  readonly url: URL
  readonly place: Readonly<Record<string, string>>
}

async function serveLog({ access, readLog }: PodEndpoints, { request, response, url, place }: LogExchange) {
  const gone = new AbortController()
  response.once('close', () => gone.abort())
  try {
    const answer = (await refusal(access, 'log', request)) ?? refuseOptions(url.searchParams)
    if (answer !== undefined) return sendAnswer(request, response, answer)
    const { namespace = '', pod = '', container = '' } = place
    const previous = url.searchParams.get('previous') === 'true'
    const log = readLog(
      { namespace, pod, container, previous },
      { ...readOptions(url.searchParams), signal: gone.signal },
    )
    const parts = limited(log, Number(url.searchParams.get('limitBytes') ?? Number.POSITIVE_INFINITY))
    // Nothing is answered before the first part, because what cannot be read is an answer of its own.
    const first = await parts.next()
    response.writeHead(200, { 'content-type': 'text/plain' })
    if (first.done !== true) response.write(first.value)
    await pipeline(Readable.from(parts), response)
  } catch (error) {
    if (response.headersSent || response.destroyed) response.destroy()
    else sendAnswer(request, response, { status: 400, body: describeError(error) })
  }
}

/** The counts of a request, and the least that a kubelet takes for each. */
const counts = { tailLines: 0, limitBytes: 1 } as const

function refuseOptions(query: URLSearchParams) {
  const timed = ['timestamps', 'sinceSeconds', 'sinceTime'].find((name) => query.has(name))
  if (timed !== undefined)
    return { status: 400, body: `${timed} is not offered: this node keeps the output of pods without times` }
  const faults = Object.entries(counts).flatMap(([name, least]) => faultOf(name, query.get(name), least))
  return faults.length === 0 ? undefined : { status: 400, body: faults.join('; ') }
}

function faultOf(name: string, text: string | null, least: number): readonly string[] {
  const isGood = text === null || (/^\d{1,15}$/.test(text) && Number(text) >= least)
  return isGood
    ? []
    : [`${name}: expected a whole number of at least ${least}, found ${JSON.stringify(text.slice(0, 32))}`]
}

function readOptions(query: URLSearchParams): Omit<PodLogOptions, 'signal'> {
  const tail = query.get('tailLines')
  return { follow: query.get('follow') === 'true', tail: tail === null ? undefined : Number(tail) }
}

async function* limited(log: AsyncIterable<Buffer>, limitBytes: number): AsyncGenerator<Buffer> {
  let left = limitBytes
  for await (const part of log) {
    yield part.length > left ? part.subarray(0, left) : part
    left -= part.length
    if (left <= 0) return
  }
}
