import { closeSync, constants, openSync } from 'node:fs'
import { Socket } from 'node:net'
import { z } from 'zod'
import type { ObjectKey } from '../../../model/api-object.ts'
import { parseTraceparent, type Tracer } from '../../../observe/index.ts'
import type { ServedRequest } from '../driver.ts'
import { addRequestSpan, type ServedTrace } from '../request-span.ts'
import { anyHostKey } from './map-entries.ts'
import { type TracedShare, writesLines } from './settings.ts'

const maxLineBytes = 8192

const line = z.object({
  client: z.string(),
  protocol: z.enum(['HTTP/1.0', 'HTTP/1.1', 'HTTP/2.0']),
  tls: z.boolean(),
  method: z.string(),
  host: z.string(),
  path: z.string(),
  status: z.number(),
  durationMs: z.number(),
  requestId: z.string(),
  pattern: z.string(),
  route: z.string(),
  endpoint: z.string(),
  state: z.string(),
  /** The endpoint of a request whose body had no length. */
  measured: z.string(),
})

const spanFields = z.object({
  line: z.string(),
  trace: z.string(),
  span: z.string(),
  parent: z.string(),
  sampled: z.string(),
  endMs: z.number(),
})

/** A request as its line tells it. */
export interface LoggedRequest {
  readonly request: ServedRequest
  /** Whether the request is for the access log. */
  readonly isForLog: boolean
  /** The place in its trace where the request has a span. */
  readonly trace?: ServedTrace
}

/** Finds the Service that a proxy of haproxy serves now. */
export type FindService = (proxy: string) => ObjectKey | undefined

interface AccessLogParts {
  readonly accessLog: number
  readonly tracing?: TracedShare
  readonly onServed: (request: ServedRequest) => void
  readonly serviceOf: FindService
  /** Takes the spans of requests; needed where requests are traced. */
  readonly tracer?: Tracer | undefined
}

/** Reads the lines that haproxy writes to its FIFO. haproxy never waits for a reader: it drops lines when the FIFO is full. */
export class AccessLog {
  readonly #path: string
  readonly #parts: AccessLogParts
  #socket: Socket | undefined
  #rest = ''

  constructor(path: string, parts: AccessLogParts) {
    this.#path = path
    this.#parts = parts
  }

  /** Does nothing where there is no access log or it is being read. */
  open(): void {
    if (!writesLines(this.#parts) || this.#socket !== undefined) return
    const fd = openSync(this.#path, constants.O_RDONLY | constants.O_NONBLOCK)
    try {
      this.#socket = new Socket({ fd, readable: true, writable: false })
    } catch (error) {
      closeSync(fd)
      throw error
    }
    this.#socket.setEncoding('latin1')
    this.#socket.on('data', (text: string) => this.#read(text))
    this.#socket.on('error', () => this.close())
    this.#socket.on('close', () => {
      this.#socket = undefined
    })
    this.#socket.unref()
  }

  close(): void {
    this.#socket?.destroy()
    this.#socket = undefined
  }

  #read(text: string): void {
    const lines = (this.#rest + text).split('\n')
    this.#rest = lines.pop() ?? ''
    if (this.#rest.length > maxLineBytes) this.#rest = ''
    for (const each of lines) {
      const logged = readLoggedRequest(each, this.#parts.serviceOf)
      if (logged !== undefined) this.#take(logged)
    }
  }

  #take({ request, isForLog, trace }: LoggedRequest): void {
    const { onServed, tracer } = this.#parts
    if (isForLog) onServed(request)
    if (trace !== undefined && tracer !== undefined) addRequestSpan(tracer, request, trace)
  }
}

/** Reads a line of the access log; undefined for one that is cut off or of a request that no rule has seen. */
export function readLoggedRequest(text: string, serviceOf: FindService): LoggedRequest | undefined {
  const json = parseJson(text)
  const parsed = line.safeParse(json)
  if (!parsed.success) return undefined
  const request = toServedRequest(parsed.data, serviceOf)
  const span = spanFields.safeParse(json)
  if (!span.success) return { request, isForLog: true }
  const trace = readTrace(span.data)
  return { request, isForLog: span.data.line === 'true', ...(trace && { trace }) }
}

function readTrace({ trace, span, parent, sampled, endMs }: z.infer<typeof spanFields>): ServedTrace | undefined {
  const context = sampled === '01' ? parseTraceparent(`00-${trace}-${span}-01`) : undefined
  return context && { context, parent: parseTraceparent(`00-${trace}-${parent}-01`), endMs }
}

function toServedRequest(parsed: z.infer<typeof line>, serviceOf: FindService): ServedRequest {
  const { tls, pattern, route, endpoint: seen, state, measured, ...request } = parsed
  const endpoint = [measured, seen].find((each) => /^[0-9[]/.test(each))
  const [first = '', kind = '', ingress = '', proxy = first] = route.split('|')
  const service = serviceOf(proxy)
  return {
    ...request,
    isTls: tls,
    ...(kind !== '' && kind !== 'none' && { pattern: pattern === anyHostKey ? '' : pattern, ingress }),
    ...(service !== undefined && { service }),
    ...(endpoint !== undefined && { endpoint }),
    ...(!/^[-L]/.test(state) && { fault: `haproxy ended the exchange in state ${state}` }),
  }
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
