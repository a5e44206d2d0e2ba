import type { IncomingMessage, ServerResponse } from 'node:http'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { promisify } from 'node:util'
import { createGzip, gzip } from 'node:zlib'
import { nextTurn, TimeSlice } from '../../loop/time-slice.ts'
import { acceptsGzip } from '../negotiate/accept.ts'
import type { EncodedAnswer } from './answer.ts'
import { boundReading } from './when-read.ts'

/** The smallest response that is compressed, as in Kubernetes. */
const minGzipBytes = 128 * 1024
const compression = { level: 1 }
const compress = promisify(gzip)

/** Writes a response, compressed where it is long and the client accepts gzip; compression runs off the main thread. Returns the bytes sent. */
export async function sendAnswer(
  request: IncomingMessage,
  response: ServerResponse,
  answer: EncodedAnswer,
): Promise<number> {
  if (typeof answer.body === 'string') return sendWhole(request, response, answer, answer.body)
  if (answer.body instanceof Uint8Array) return sendBytes(request, response, answer, answer.body)
  const pieces = answer.body[Symbol.iterator]()
  if (answer.isLong === true) await nextTurn()
  const first = pieces.next()
  if (answer.isLong === true) await nextTurn()
  const second = pieces.next()
  if (second.done) return sendWhole(request, response, answer, first.value ?? '')
  return sendPieces(request, response, answer, chain([first.value, second.value], pieces))
}

async function sendWhole(
  request: IncomingMessage,
  response: ServerResponse,
  answer: EncodedAnswer,
  text: string,
): Promise<number> {
  const length = Buffer.byteLength(text)
  const isRead = request.method === 'GET' && length > minGzipBytes
  if (isRead && takesGzip(request)) return sendCompressed(response, answer, text)
  response.writeHead(answer.httpCode, { ...headersOf(answer, isRead, false), 'content-length': length })
  // A text, unlike bytes, is sent together with the headers in one write. A text without multi-byte characters is Latin-1, which encodes faster.
  response.end(text, length === text.length ? 'latin1' : 'utf8')
  return length
}

async function sendBytes(
  request: IncomingMessage,
  response: ServerResponse,
  answer: EncodedAnswer,
  bytes: Uint8Array,
): Promise<number> {
  if (bytes.length > minGzipBytes && takesGzip(request)) return sendCompressed(response, answer, bytes)
  response.writeHead(answer.httpCode, { ...headersOf(answer, false, false), 'content-length': bytes.length })
  response.end(bytes)
  return bytes.length
}

async function sendCompressed(
  response: ServerResponse,
  answer: EncodedAnswer,
  content: string | Uint8Array,
): Promise<number> {
  const bytes = await compress(content, compression)
  response.writeHead(answer.httpCode, { ...headersOf(answer, true, true), 'content-length': bytes.length })
  response.end(bytes)
  return bytes.length
}

/** Sends the pieces as fast as the client reads them, with other work in between. */
async function sendPieces(
  request: IncomingMessage,
  response: ServerResponse,
  answer: EncodedAnswer,
  pieces: Iterable<string>,
): Promise<number> {
  const isCompressed = takesGzip(request)
  response.writeHead(answer.httpCode, headersOf(answer, true, isCompressed))
  const endBound = boundReading(response)
  const sentBytes = await (isCompressed ? writeCompressed(response, pieces) : writePlain(response, pieces))
  endBound()
  return sentBytes
}

async function writePlain(response: ServerResponse, pieces: Iterable<string>): Promise<number> {
  const slice = new TimeSlice()
  let sentBytes = 0
  for (const piece of pieces) {
    if (response.destroyed) return sentBytes
    const bytes = Buffer.from(piece)
    sentBytes += bytes.length
    if (!response.write(bytes)) await whenWritable(response)
    if (slice.spent) await slice.pause()
  }
  response.end()
  return sentBytes
}

/** Resolves when the response is writable or the client has disconnected. */
function whenWritable(response: ServerResponse): Promise<void> {
  return new Promise((resolve) => {
    const settle = () => {
      response.off('drain', settle).off('close', settle)
      resolve()
    }
    if (response.destroyed) resolve()
    else response.on('drain', settle).on('close', settle)
  })
}

async function writeCompressed(response: ServerResponse, pieces: Iterable<string>): Promise<number> {
  const encoder = createGzip(compression)
  let sentBytes = 0
  encoder.on('data', (chunk: Buffer) => {
    sentBytes += chunk.length
  })
  try {
    await pipeline(Readable.from(toBytes(pieces), { objectMode: false }), encoder, response)
  } catch (thrown) {
    if (!isLeaving(thrown)) throw thrown
  }
  return sentBytes
}

function takesGzip(request: IncomingMessage): boolean {
  return acceptsGzip(request.headers['accept-encoding'])
}

function headersOf({ contentType, headers }: EncodedAnswer, isLong: boolean, isCompressed: boolean) {
  return {
    'content-type': contentType,
    'cache-control': 'no-cache, private',
    ...(isCompressed ? { 'content-encoding': 'gzip' } : {}),
    ...(isLong ? { vary: 'accept-encoding' } : {}),
    ...headers,
  }
}

function* chain(first: readonly string[], rest: Iterator<string>): Generator<string, void> {
  yield* first
  for (let next = rest.next(); !next.done; next = rest.next()) yield next.value
}

function* toBytes(pieces: Iterable<string>): Generator<Buffer, void> {
  for (const piece of pieces) yield Buffer.from(piece)
}

/** Checks whether the client disconnected before the end of the response: no client is left to inform. */
function isLeaving(thrown: unknown): boolean {
  return thrown instanceof Error && 'code' in thrown && thrown.code === 'ERR_STREAM_PREMATURE_CLOSE'
}
