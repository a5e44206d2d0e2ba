import { once } from 'node:events'
import { createServer as createHttpServer, type IncomingMessage } from 'node:http'
import { createServer as createHttp2Server, type ServerHttp2Stream } from 'node:http2'
import type { AddressInfo } from 'node:net'
import { gunzipSync } from 'node:zlib'
import { type CollectedSpan, readTraceJson, readTraceRequest } from './read-otlp.ts'
import { until } from './until.ts'

/** How the collector answers: `hang` not at all, `refuse` with an error, `garbage` with bytes that are no answer. */
export type CollectorMood = 'take' | 'hang' | 'refuse' | 'garbage'

export interface TestCollector extends AsyncDisposable {
  readonly endpoint: string
  readonly spans: CollectedSpan[]
  /** The headers of each export. */
  readonly requests: Readonly<Record<string, unknown>>[]
  mood: CollectorMood
  /** Waits until a span of that name is there, and returns it. */
  span(name: string): Promise<CollectedSpan>
}

const grpcPath = '/opentelemetry.proto.collector.trace.v1.TraceService/Export'
/** A message of no bytes: ExportTraceServiceResponse without a partial success. */
const emptyGrpcMessage = Buffer.alloc(5)

class Collected {
  readonly spans: CollectedSpan[] = []
  readonly requests: Readonly<Record<string, unknown>>[] = []
  mood: CollectorMood = 'take'

  async span(name: string): Promise<CollectedSpan> {
    await until(`the span ${name} is collected`, () => this.spans.some((span) => span.name === name), 10_000)
    const found = this.spans.find((span) => span.name === name)
    if (found === undefined) throw new Error('unreachable')
    return found
  }
}

/** Listens for OTLP over gRPC (HTTP/2 without TLS), as the protocol's specification has it, on the loopback. */
export async function startGrpcCollector(port = 0): Promise<TestCollector> {
  const collected = new Collected()
  const server = createHttp2Server()
  const sessions = new Set<{ destroy(): void }>()
  server.on('session', (session) => sessions.add(session))
  server.on('stream', (stream: ServerHttp2Stream, headers) => {
    stream.on('error', () => {})
    void answerGrpc(stream, { ...headers }, collected)
  })
  server.listen(port, '127.0.0.1')
  await once(server, 'listening')
  return withEndpoint(collected, server.address() as AddressInfo, async () => {
    for (const session of sessions) session.destroy()
    await new Promise((resolve) => server.close(resolve))
  })
}

async function answerGrpc(
  stream: ServerHttp2Stream,
  headers: Readonly<Record<string, unknown>>,
  collected: Collected,
): Promise<void> {
  const body = await bodyOf(stream)
  collected.requests.push(headers)
  if (collected.mood === 'hang') return
  if (collected.mood === 'garbage') {
    stream.respond({ ':status': 200, 'content-type': 'application/grpc' })
    stream.end(Buffer.from('no message at all'))
    return
  }
  const isExport = headers[':path'] === grpcPath && headers['content-type'] === 'application/grpc'
  if (collected.mood === 'refuse' || !isExport) {
    stream.respond({ ':status': 200, 'content-type': 'application/grpc', 'grpc-status': '3' }, { endStream: true })
    return
  }
  collected.spans.push(...readTraceRequest(grpcMessage(body)))
  stream.respond({ ':status': 200, 'content-type': 'application/grpc' }, { waitForTrailers: true })
  stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0' }))
  stream.end(emptyGrpcMessage)
}

/** A length-prefixed message: whether it is compressed, its length, its bytes. */
function grpcMessage(body: Buffer): Buffer {
  const message = body.subarray(5, 5 + body.readUInt32BE(1))
  return body[0] === 1 ? gunzipSync(message) : message
}

/** Listens for OTLP over HTTP on the loopback, in Protobuf and in JSON. */
export async function startHttpCollector(port = 0): Promise<TestCollector> {
  const collected = new Collected()
  const server = createHttpServer(async (request, response) => {
    const body = await bodyOf(request)
    collected.requests.push({ ...request.headers, ':path': request.url })
    if (collected.mood === 'hang') return
    const status = collected.mood === 'refuse' || request.url !== '/v1/traces' ? 400 : 200
    if (status === 200 && collected.mood === 'take') collected.spans.push(...readHttp(request, body))
    response.writeHead(status, { 'content-type': request.headers['content-type'] ?? 'text/plain' })
    if (collected.mood === 'garbage') response.end(Buffer.alloc(5 * 1024 * 1024, 0xff))
    else response.end(request.headers['content-type'] === 'application/json' ? '{}' : Buffer.alloc(0))
  })
  server.listen(port, '127.0.0.1')
  await once(server, 'listening')
  return withEndpoint(collected, server.address() as AddressInfo, async () => {
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  })
}

function readHttp({ headers }: IncomingMessage, body: Buffer): readonly CollectedSpan[] {
  const plain = headers['content-encoding'] === 'gzip' ? gunzipSync(body) : body
  return headers['content-type'] === 'application/json'
    ? readTraceJson(plain.toString('utf8'))
    : readTraceRequest(plain)
}

async function bodyOf(stream: AsyncIterable<Buffer>): Promise<Buffer> {
  const chunks: Buffer[] = []
  for await (const chunk of stream) chunks.push(chunk)
  return Buffer.concat(chunks)
}

function withEndpoint(collected: Collected, { port }: AddressInfo, close: () => Promise<void>): TestCollector {
  return Object.assign(collected, { endpoint: `http://127.0.0.1:${port}`, [Symbol.asyncDispose]: close })
}
