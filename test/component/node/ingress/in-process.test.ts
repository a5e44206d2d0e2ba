import assert from 'node:assert/strict'
import { once } from 'node:events'
import http from 'node:http'
import http2 from 'node:http2'
import net from 'node:net'
import { describe, test } from 'node:test'
import { httpGet } from '../../../helpers/http-get.ts'
import { backendOn, closing, echo, IngressLab, listen, startBackend } from '../../../helpers/in-process-ingress.ts'
import { createSelfSigned } from '../../../helpers/self-signed.ts'
import { until, untilAsync } from '../../../helpers/until.ts'

/** What a server answers to bytes as they are. */
async function exchangeRaw(port: number, text: string): Promise<string> {
  const socket = net.connect(port, '127.0.0.1')
  let answer = ''
  socket.on('data', (chunk) => {
    answer += chunk
  })
  // A refused connection may be reset.
  socket.on('error', () => {})
  socket.write(text)
  await new Promise((resolve) => socket.once('close', resolve))
  return answer
}

const statusOf = (answer: string) => Number(answer.split(' ')[1])

describe('The in-process driver', () => {
  test('passes path and query as sent, and says itself who the client is', async () => {
    await using lab = new IngressLab()
    await using backend = await startBackend(echo)
    await lab.start()
    await lab.route({ '/': backendOn([backend.port]) })
    const headers = { host: 'Shop.Example.com:80', 'x-forwarded-for': '6.6.6.6', forwarded: 'for=6.6.6.6', 'x-a': '1' }
    const path = '/a/../b//c%2Fd?x=%20&y'
    const { status, body } = await httpGet({ host: '127.0.0.1', port: lab.httpPort, path, headers })
    const seen = JSON.parse(body)
    assert.equal(status, 200)
    assert.equal(seen.url, path)
    assert.equal(seen.headers.host, 'Shop.Example.com:80')
    assert.equal(seen.headers['x-forwarded-for'], '127.0.0.1')
    assert.equal(seen.headers['x-forwarded-proto'], 'http')
    assert.equal(seen.headers['x-forwarded-host'], 'Shop.Example.com:80')
    assert.equal(seen.headers['x-forwarded-port'], String(lab.httpPort))
    assert.equal(seen.headers['x-a'], '1')
    assert.equal(seen.headers.forwarded, undefined)
    assert.match(seen.headers['x-request-id'], /^[0-9a-f-]{36}$/)
    assert.match(seen.headers.traceparent, /^00-[0-9a-f]{32}-[0-9a-f]{16}-00$/)
    await until('the request is reported', () => lab.served.length === 1)
    assert.deepEqual(
      { ...lab.served[0], durationMs: 0, requestId: '' },
      {
        client: '127.0.0.1',
        protocol: 'HTTP/1.1',
        isTls: false,
        method: 'GET',
        host: 'shop.example.com',
        path: '/a/../b//c%2Fd',
        status: 200,
        durationMs: 0,
        requestId: '',
        pattern: '',
        ingress: 'default/test',
        service: 'default/web',
        endpoint: `127.0.0.1:${backend.port}`,
      },
    )
  })

  test('answers 404 without a route, 503 without endpoints or where none can be reached, 502 for a broken answer, 504 for none', async () => {
    await using lab = new IngressLab({ backendTimeoutMs: 300 })
    await using broken = await startBackend((request) => request.socket.destroy())
    await using silent = await startBackend(() => {})
    await using gone = await startBackend(echo)
    const gonePort = gone.port
    await gone[Symbol.asyncDispose]()
    await lab.start()
    await lab.route({
      '/none': backendOn([]),
      '/gone': backendOn([gonePort]),
      '/broken': backendOn([broken.port]),
      '/silent': backendOn([silent.port]),
    })
    const get = async (path: string) => (await httpGet({ host: '127.0.0.1', port: lab.httpPort, path })).status
    assert.deepEqual(
      await Promise.all(['/', '/none', '/gone', '/broken', '/silent'].map(get)),
      [404, 503, 503, 502, 504],
    )
  })

  test('asks another endpoint where one cannot be reached, for methods that may be repeated only', async () => {
    await using lab = new IngressLab()
    await using backend = await startBackend(async (request, response) => {
      let body = ''
      for await (const chunk of request) body += chunk
      response.end(`got ${body}`)
    })
    await using gone = await startBackend(echo)
    const gonePort = gone.port
    await gone[Symbol.asyncDispose]()
    await lab.start()
    await lab.route({ '/': backendOn([gonePort, backend.port]) })
    const put = async (method: string) => {
      const request = http.request({ host: '127.0.0.1', port: lab.httpPort, method, agent: false })
      request.end('body')
      const [response] = (await once(request, 'response')) as [http.IncomingMessage]
      const text = (await response.toArray()).join('')
      return response.statusCode === 200 ? text : String(response.statusCode)
    }
    const puts = await Promise.all(Array.from({ length: 4 }, () => put('PUT')))
    assert.deepEqual(puts, ['got body', 'got body', 'got body', 'got body'])
    const posts = await Promise.all(Array.from({ length: 4 }, () => put('POST')))
    assert.deepEqual(posts.toSorted(), ['503', '503', 'got body', 'got body'])
  })

  test('takes endpoints in turn, or the one of the cookie', async () => {
    await using lab = new IngressLab()
    await using one = await startBackend((request, response) => response.end(`one ${request.headers.cookie ?? ''}`))
    await using two = await startBackend((request, response) => response.end(`two ${request.headers.cookie ?? ''}`))
    await lab.start()
    await lab.route({
      '/': backendOn([one.port, two.port]),
      '/sticky': backendOn([one.port, two.port], { id: 'sticky', stickiness: { cookie: 'route' } }),
    })
    const get = (path: string, cookie = '') =>
      httpGet({ host: '127.0.0.1', port: lab.httpPort, path, headers: cookie === '' ? {} : { cookie } })
    const turns = [await get('/'), await get('/'), await get('/'), await get('/')].map(({ body }) => body.trim())
    assert.deepEqual(turns.toSorted(), ['one', 'one', 'two', 'two'])
    assert.notEqual(turns[0], turns[1])
    const first = await get('/sticky')
    const [cookie = ''] = first.headers['set-cookie']?.[0]?.split(';') ?? []
    assert.match(cookie, /^route=[0-9a-f]{16}$/)
    for (let turn = 0; turn < 4; turn += 1) {
      const next = await get('/sticky', `a=b; ${cookie}; c=d`)
      assert.equal(next.body, `${first.body.trim()} a=b; c=d`)
      assert.equal(next.headers['set-cookie'], undefined)
    }
  })

  test('joins a WebSocket with its backend, and passes a refusal on', async () => {
    await using lab = new IngressLab()
    const server = http.createServer(echo)
    server.on('upgrade', (request, socket) => {
      if (request.url === '/no') return socket.end('HTTP/1.1 403 Forbidden\r\nContent-Length: 2\r\n\r\nno')
      socket.write(
        `HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nX-B: 1\r\n\r\nhello`,
      )
      socket.pipe(socket)
      return undefined
    })
    await listen(server)
    await using backend = closing(server)
    await lab.start()
    await lab.route({ '/': backendOn([backend.port]) })
    const head = (path: string) =>
      `GET ${path} HTTP/1.1\r\nHost: x\r\nConnection: upgrade\r\nUpgrade: WebSocket\r\nSec-WebSocket-Key: a\r\n\r\n`
    const socket = net.connect(lab.httpPort, '127.0.0.1')
    let seen = ''
    socket.on('data', (chunk) => {
      seen += chunk
    })
    socket.write(`${head('/ws')}early`)
    await until('the early bytes come back', () => seen.endsWith('helloearly'))
    assert.match(seen, /^HTTP\/1\.1 101 Switching Protocols\r\nconnection: Upgrade\r\nupgrade: websocket\r\nx-b: 1\r\n/)
    socket.write('later')
    await until('later bytes come back', () => seen.endsWith('later'))
    socket.destroy()
    await until('the request is reported', () => lab.served.length === 1)
    assert.equal(lab.served[0]?.status, 101)
    const refused = await exchangeRaw(lab.httpPort, head('/no'))
    assert.equal(statusOf(refused), 403)
    assert.match(refused, /\r\n\r\nno$/)
  })

  test('speaks HTTP/2 over TLS with the certificate of the name, and passes gRPC with its trailers to an h2c backend', async () => {
    await using lab = new IngressLab()
    const grpc = http2.createServer()
    grpc.on('stream', (stream: http2.ServerHttp2Stream, headers) => {
      stream.respond({ ':status': 200, 'content-type': 'application/grpc' }, { waitForTrailers: true })
      stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0', 'x-te': String(headers['te']) }))
      stream.pipe(stream)
    })
    await listen(grpc)
    const { key, cert } = createSelfSigned()
    const { port } = grpc.address() as net.AddressInfo
    await lab.start()
    const certificate = { secret: 'default/tls', fingerprint: '1', chainPem: cert, keyPem: key, notAfterMs: 0 }
    await lab.route({ '/': backendOn([port], { protocol: 'h2c' }) }, [{ ...certificate, hosts: [] }])
    const session = http2.connect(`https://127.0.0.1:${lab.httpsPort}`, { ca: cert })
    const stream = session.request({ ':method': 'POST', ':path': '/svc/Call', te: 'trailers' })
    let body = ''
    stream.on('data', (chunk) => {
      body += chunk
    })
    const trailers = once(stream, 'trailers')
    stream.write('one')
    await until('the first message comes back', () => body === 'one')
    stream.end('two')
    const [got] = await trailers
    assert.equal(got['grpc-status'], '0')
    assert.equal(got['x-te'], 'trailers')
    assert.equal(body, 'onetwo')
    session.close()
    grpc.close()
  })

  test('refuses what could be read in two ways, and large headers', async () => {
    await using lab = new IngressLab({ maxHeaderBytes: 4096 })
    await using backend = await startBackend(echo)
    await lab.start()
    await lab.route({ '/': backendOn([backend.port]) })
    const ask = (text: string) => exchangeRaw(lab.httpPort, text)
    const end = 'Connection: close\r\n\r\n'
    const cases: readonly (readonly [what: string, request: string, status: number])[] = [
      ['two hosts', `GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n${end}`, 400],
      ['no host', `GET / HTTP/1.1\r\n${end}`, 400],
      ['a host with a path', `GET / HTTP/1.1\r\nHost: a/b\r\n${end}`, 400],
      [
        'both lengths',
        `POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n${end}0\r\n\r\n`,
        400,
      ],
      ['two lengths', `POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nContent-Length: 4\r\n${end}abcd`, 400],
      ['a folded header', `GET / HTTP/1.1\r\nHost: a\r\nX-A: b\r\n c\r\n${end}`, 400],
      ['a space before the colon', `GET / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding : chunked\r\n${end}`, 400],
      ['an unknown coding', `POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: xchunked\r\n${end}`, 400],
      [
        'a chunk length with a sign',
        `POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n${end}+3\r\nabc\r\n0\r\n\r\n`,
        400,
      ],
      ['a bare line feed', `GET / HTTP/1.1\nHost: a\n\n`, 400],
      ['large headers', `GET / HTTP/1.1\r\nHost: a\r\nX-A: ${'a'.repeat(5000)}\r\n${end}`, 431],
      ['an absolute target', `GET http://b/x HTTP/1.1\r\nHost: a\r\n${end}`, 200],
      [
        'an upgrade that is not offered',
        `GET / HTTP/1.1\r\nHost: a\r\nUpgrade: h2c\r\nConnection: upgrade, close\r\n\r\n`,
        200,
      ],
      ['HTTP/1.0 without a host', 'GET / HTTP/1.0\r\n\r\n', 200],
    ]
    for (const [what, request, status] of cases) assert.equal(statusOf(await ask(request)), status, what)
  })

  test('bounds bodies, requests and connections of a client, and slow headers and bodies', async () => {
    await using lab = new IngressLab({
      maxBodyBytes: 10,
      headerTimeoutMs: 200,
      idleTimeoutMs: 300,
      connectionsPerClient: 3,
    })
    await using backend = await startBackend(async (request, response) => {
      request.resume()
      await once(request, 'end').catch(() => {})
      response.end('ok')
    })
    await lab.start()
    await lab.route({ '/': backendOn([backend.port]) })
    const ask = (text: string) => exchangeRaw(lab.httpPort, text)
    const post = 'POST / HTTP/1.1\r\nHost: a\r\n'
    assert.equal(statusOf(await ask(`${post}Content-Length: 11\r\n\r\n`)), 413)
    assert.equal(statusOf(await ask(`${post}Transfer-Encoding: chunked\r\n\r\nb\r\n01234567890\r\n0\r\n\r\n`)), 413)
    assert.equal(statusOf(await ask('GET / HTTP/1.1\r\nHost: a\r\n')), 408)
    assert.equal(statusOf(await ask(`${post}Content-Length: 5\r\n\r\nab`)), 408)
    const held = await Promise.all(
      Array.from({ length: 3 }, async () => {
        const socket = net.connect(lab.httpPort, '127.0.0.1')
        await once(socket, 'connect')
        return socket
      }),
    )
    await untilAsync(
      'a fourth connection is refused',
      async () => (await ask('GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n')) === '',
    )
    for (const socket of held) socket.destroy()
    await untilAsync(
      'connections are free again',
      async () => statusOf(await ask('GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n')) === 200,
    )
  })

  test('answers 429 beyond the requests that a client may make in a second', async () => {
    await using lab = new IngressLab({ requestsPerClient: 2 })
    await using backend = await startBackend(echo)
    await lab.start()
    await lab.route({ '/': backendOn([backend.port]) })
    const ask = async () => (await httpGet({ host: '127.0.0.1', port: lab.httpPort })).status
    const statuses = await Promise.all(Array.from({ length: 8 }, ask))
    assert.ok(statuses.filter((status) => status === 429).length >= 4, statuses.join())
    assert.ok(statuses.includes(200))
  })

  test('ends the request at the backend when the client goes, and the answer when the backend goes', async () => {
    await using lab = new IngressLab()
    let isClosed = false
    await using backend = await startBackend((request, response) => {
      response.once('close', () => {
        isClosed = true
      })
      response.write('part')
      if (request.url === '/break') setTimeout(() => request.socket.destroy(), 20)
    })
    await lab.start()
    await lab.route({ '/': backendOn([backend.port]) })
    const request = http.get({ host: '127.0.0.1', port: lab.httpPort, path: '/hold', agent: false })
    request.on('error', () => {})
    await once(request, 'response')
    request.destroy()
    await until('the backend sees the end', () => isClosed)
    await assert.rejects(httpGet({ host: '127.0.0.1', port: lab.httpPort, path: '/break' }), /aborted/)
  })

  test('lets a client send its body only once a backend is there to take it', async () => {
    await using lab = new IngressLab()
    await using backend = await startBackend(async (request, response) => {
      response.end((await request.toArray()).join(''))
    })
    await lab.start()
    await lab.route({ '/': backendOn([backend.port]), '/none': backendOn([]) })
    const ask = async (path: string) => {
      const headers = { expect: '100-continue', 'content-length': 4 }
      const request = http.request({
        host: '127.0.0.1',
        port: lab.httpPort,
        path,
        method: 'POST',
        headers,
        agent: false,
      })
      let wasAsked = false
      request.once('continue', () => {
        wasAsked = true
        request.end('body')
      })
      request.flushHeaders()
      const [response] = (await once(request, 'response')) as [http.IncomingMessage]
      const text = (await response.toArray()).join('')
      return { status: response.statusCode, wasAsked, text }
    }
    assert.deepEqual(await ask('/'), { status: 200, wasAsked: true, text: 'body' })
    assert.deepEqual((await ask('/none')).wasAsked, false)
  })

  test('serves its other addresses where one is in use, says which option names it, and takes it when it is free', async () => {
    const other = net.createServer()
    await listen(other)
    const { port } = other.address() as net.AddressInfo
    await using lab = new IngressLab({}, port)
    await lab.start()
    assert.equal(lab.driver.health().level, 'unknown')
    await lab.route({})
    const { level, message } = lab.driver.health()
    assert.equal(level, 'degraded')
    assert.equal(
      message,
      `127.0.0.1:${port} is in use by another program; --ingress-http-addresses chooses other addresses`,
    )
    assert.ok(lab.httpsPort > 0)
    other.close()
    await until('it is taken', () => lab.driver.health().level === 'ok')
    assert.equal((await httpGet({ host: '127.0.0.1', port })).status, 404)
  })
})
