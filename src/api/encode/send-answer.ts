import type { IncomingMessage, ServerResponse } from 'node:http'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import { acceptsGzip } from '../negotiate/accept.ts'
import type { EncodedAnswer } from './answer.ts'

/** Shorter answers are not worth the work, as in Kubernetes. */
const minGzipBytes = 128 * 1024
const compress = promisify(gzip)

/** Writes a whole answer, compressed where it is long and the client takes that; the work is done off the main thread. Its size can be read from the response. */
export async function sendAnswer(
  request: IncomingMessage,
  response: ServerResponse,
  { httpCode, contentType, body, headers }: EncodedAnswer,
): Promise<void> {
  const plain = Buffer.from(body)
  const isRead = request.method === 'GET' && plain.length > minGzipBytes
  const isCompressed = isRead && acceptsGzip(request.headers['accept-encoding'])
  const bytes = isCompressed ? await compress(plain, { level: 1 }) : plain
  response.setHeader('content-length', bytes.length)
  response.writeHead(httpCode, {
    'content-type': contentType,
    'cache-control': 'no-cache, private',
    ...(isCompressed ? { 'content-encoding': 'gzip' } : {}),
    ...(isRead ? { vary: 'accept-encoding' } : {}),
    ...headers,
  })
  response.end(bytes)
}
