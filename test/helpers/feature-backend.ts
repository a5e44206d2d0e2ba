import { createHash } from 'node:crypto'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'

/** A web server with what browsers and libraries ask of one; its path says what it does, and any other path is echoed as JSON. */
export function createFeatureBackend(): Server {
  const server = createServer((request, response) => void answer(request, response))
  server.keepAliveTimeout = 60_000
  server.on('upgrade', openWebSocket)
  return server
}

async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  request.on('error', () => {})
  const act = acts[(request.url ?? '').replace(/\?.*/, '')]
  if (act !== undefined) {
    await act(request, response)
    return
  }
  const body = Buffer.concat(await request.toArray()).toString()
  const { method, url, headers, httpVersion } = request
  response.setHeader('content-type', 'application/json')
  response.end(JSON.stringify({ method, url, headers, httpVersion, body }))
}

const acts: Readonly<Record<string, (request: IncomingMessage, response: ServerResponse) => unknown>> = {
  '/events': sendEvents,
  '/sum': async (request, response) => {
    const hash = createHash('sha256')
    for await (const chunk of request) hash.update(chunk)
    response.end(hash.digest('hex'))
  },
  '/large': (_, response) => response.end(Buffer.alloc(20_000_000, 'x')),
  '/late': (_, response) => setTimeout(() => response.end('late'), 700),
  '/moved': (_, response) => response.writeHead(302, { location: '/moved/../here?x=1' }).end(),
  '/unchanged': (_, response) => response.writeHead(304, { etag: '"1"' }).end(),
  '/nothing': (_, response) => response.writeHead(204).end(),
  '/cookies': (_, response) => response.writeHead(200, { 'set-cookie': ['a=1', 'b=2; Path=/'] }).end(),
  '/until-close': (_, response) => {
    response.socket?.end('HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nall until the end')
  },
}

/** An event at once, the next when the client has asked for `/events?next`. */
function sendEvents(request: IncomingMessage, response: ServerResponse): void {
  if (request.url === '/events?next') {
    waiting?.end('data: two\n\n')
    response.end()
    return
  }
  waiting = response
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  response.write('data: one\n\n')
}

let waiting: ServerResponse | undefined

/** RFC 6455 section 4.2.2; what comes after is sent back. */
function openWebSocket(request: IncomingMessage, socket: Duplex): void {
  const accept = createHash('sha1')
    .update(`${request.headers['sec-websocket-key']}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`)
    .digest('base64')
  const head = ['HTTP/1.1 101 Switching Protocols', 'Connection: Upgrade', 'Upgrade: websocket']
  socket.write([...head, `Sec-WebSocket-Accept: ${accept}`, '', ''].join('\r\n'))
  socket.on('error', () => {}).pipe(socket)
}
