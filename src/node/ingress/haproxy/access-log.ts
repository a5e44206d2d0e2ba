import { closeSync, constants, openSync } from 'node:fs'
import { Socket } from 'node:net'
import { z } from 'zod'
import type { ServedRequest } from '../driver.ts'
import { anyHostKey } from './map-entries.ts'

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
})

interface AccessLogParts {
  readonly accessLog: number
  readonly onServed: (request: ServedRequest) => void
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
    if (this.#parts.accessLog === 0 || this.#socket !== undefined) return
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
      const request = readServedRequest(each)
      if (request !== undefined) this.#parts.onServed(request)
    }
  }
}

/** Reads a line of the access log; undefined for one that is cut off or of a request that no rule has seen. */
export function readServedRequest(text: string): ServedRequest | undefined {
  const parsed = line.safeParse(parseJson(text))
  if (!parsed.success) return undefined
  const { tls, pattern, route, endpoint, state, ...request } = parsed.data
  const [proxy = '', kind = '', ingress = ''] = route.split('|')
  return {
    ...request,
    isTls: tls,
    ...(kind !== '' && kind !== 'none' && { pattern: pattern === anyHostKey ? '' : pattern, ingress }),
    ...(proxy !== '' && /^[0-9[]/.test(endpoint) && { endpoint }),
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
