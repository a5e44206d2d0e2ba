import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import { type ClientHttp2Session, createServer as createHttp2Server, type ServerHttp2Stream } from 'node:http2'
import { type AddressInfo, createConnection, type Server as NetServer } from 'node:net'
import { after, before, describe, test } from 'node:test'
import type { Ip } from '../../../../src/model/ip.ts'
import type { Backend } from '../../../../src/model/routing-table.ts'
import { HaproxyLab, haproxySkipReason } from '../../../helpers/haproxy-lab.ts'
import { routingTable } from '../../../helpers/routing-tables.ts'

const loopback = '127.0.0.1' as Ip

/** Answers a WebSocket handshake and sends back what comes, in small letters made great. */
function startTunnelServer(): Server {
  const server = createServer((request, response) => {
    request.resume().on('end', () => response.end(`${request.httpVersion} ${request.url}`))
  })
  server.on('checkContinue', (request, response) => {
    response.writeContinue()
    request.on('data', (chunk) => response.write(chunk)).on('end', () => response.end())
  })
  server.on('upgrade', (request, socket) => {
    socket.write(
      `HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Accept: ${acceptOf(request.headers['sec-websocket-key'])}\r\n\r\n`,
    )
    socket.on('data', (chunk) => socket.write(chunk.toString().toUpperCase()))
    socket.on('error', () => {})
  })
  return server
}

/** RFC 6455 section 4.2.2. haproxy checks it. */
function acceptOf(key = ''): string {
  return createHash('sha1').update(`${key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`).digest('base64')
}

/** Answers as gRPC does: the status stands in a trailer. */
function startGrpcServer() {
  const server = createHttp2Server()
  server.on('stream', (stream: ServerHttp2Stream, headers) => {
    stream.respond({ ':status': 200, 'content-type': 'application/grpc' }, { waitForTrailers: true })
    stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0', 'x-te': String(headers['te']) }))
    stream.pipe(stream)
  })
  return server
}

async function portOf(server: NetServer): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, loopback, resolve))
  return (server.address() as AddressInfo).port
}

describe('haproxy speaks the protocols of clients and endpoints', { skip: haproxySkipReason() }, () => {
  const tunnel = startTunnelServer()
  const grpc = startGrpcServer()
  let lab: HaproxyLab
  let session: ClientHttp2Session

  before(async () => {
    lab = await HaproxyLab.create()
    const [tunnelPort, grpcPort] = [await portOf(tunnel), await portOf(grpc)]
    const table = routingTable({ 'a.example.com': { prefix: ['/', '/grpc'] } })
    const of = (backend: Backend, index: number): Backend => ({
      ...backend,
      protocol: index === 1 ? 'h2c' : 'http1',
      endpoints: [{ ip: loopback, port: index === 1 ? grpcPort : tunnelPort }],
    })
    const backends = new Map(Array.from(table.backends.values(), of).map((backend) => [backend.id, backend]))
    session = await lab.openSession({ ...table, backends })
  })
  after(async () => {
    session.destroy()
    await lab[Symbol.asyncDispose]()
    tunnel.closeAllConnections()
    tunnel.close()
    grpc.close()
  })

  async function askByHttp2(headers: Record<string, string>, body = '') {
    const stream = session.request({ ':authority': 'a.example.com', ...headers }, { endStream: body === '' })
    let trailers: Record<string, unknown> = {}
    stream.on('trailers', (received) => {
      trailers = received
    })
    if (body !== '') stream.end(body)
    const [answer] = await once(stream, 'response')
    const chunks = await stream.toArray()
    return { status: answer[':status'], body: Buffer.concat(chunks).toString(), trailers }
  }

  test('HTTP/2 at the edge becomes HTTP/1.1 to an endpoint, many requests on one connection', async () => {
    const answers = await Promise.all(Array.from({ length: 50 }, (_, n) => askByHttp2({ ':path': `/x?${n}` })))
    assert.deepEqual(
      answers.map(({ status, body }) => [status, body]),
      answers.map((_, n) => [200, `1.1 /x?${n}`]),
    )
  })

  test('gRPC passes with its body and its trailers to an endpoint that speaks HTTP/2', async () => {
    const headers = {
      ':method': 'POST',
      ':path': '/grpc/Service/Call',
      'content-type': 'application/grpc',
      te: 'trailers',
    }
    const { status, body, trailers } = await askByHttp2(headers, 'message')
    assert.deepEqual([status, body, trailers['grpc-status'], trailers['x-te']], [200, 'message', '0', 'trailers'])
  })

  test('a WebSocket of HTTP/1.1 becomes a tunnel', async () => {
    const socket = createConnection(lab.httpPort, loopback).setEncoding('latin1')
    const key = 'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n'
    socket.write(
      `GET /ws HTTP/1.1\r\nHost: a.example.com\r\nConnection: keep-alive, Upgrade\r\nUpgrade: websocket\r\n${key}\r\n`,
    )
    const [answer] = await once(socket, 'data')
    assert.match(answer, /^HTTP\/1\.1 101 /)
    socket.write('hello')
    const [echo] = await once(socket, 'data')
    assert.equal(echo, 'HELLO')
    socket.destroy()
  })

  test('a WebSocket of HTTP/2 (RFC 8441) becomes a tunnel', async () => {
    assert.equal(session.remoteSettings.enableConnectProtocol, true)
    const headers = { ':method': 'CONNECT', ':protocol': 'websocket', ':scheme': 'https', ':path': '/ws' }
    const stream = session.request(
      { ...headers, ':authority': 'a.example.com', 'sec-websocket-version': '13' },
      { endStream: false },
    )
    const [answer] = await once(stream, 'response')
    assert.equal(answer[':status'], 200)
    stream.write('hello')
    const [echo] = await once(stream, 'data')
    assert.equal(String(echo), 'HELLO')
    stream.destroy()
  })

  test('a client that waits for 100 Continue gets it from the endpoint', async () => {
    const socket = createConnection(lab.httpPort, loopback).setEncoding('latin1')
    socket.write('POST /c HTTP/1.1\r\nHost: a.example.com\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n')
    const [first] = await once(socket, 'data')
    assert.match(first, /^HTTP\/1\.1 100 /)
    socket.write('hi')
    const [second] = await once(socket, 'data')
    assert.match(second, /^HTTP\/1\.1 200 /)
    socket.destroy()
  })
})
