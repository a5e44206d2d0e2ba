import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import {
  ask,
  EchoServers,
  HaproxyLab,
  haproxySkipReason,
  sendRaw,
  testLimits,
  wholeChange,
  withEndpoints,
} from '../../../helpers/haproxy-lab.ts'
import { routingTable } from '../../../helpers/routing-tables.ts'
import { until } from '../../../helpers/until.ts'

describe('haproxy passes requests on', { skip: haproxySkipReason() }, () => {
  let lab: HaproxyLab
  let servers: EchoServers

  before(async () => {
    lab = await HaproxyLab.create({
      accessLog: 1,
      limits: { ...testLimits, maxBodyBytes: 1000, requestsPerClient: 500 },
    })
    servers = await EchoServers.start(1)
    const table = withEndpoints(routingTable({ 'a.example.com': { prefix: ['/'] } }), () => servers.ports)
    await lab.driver.apply(table, wholeChange(table))
  })
  after(async () => {
    await lab[Symbol.asyncDispose]()
    servers[Symbol.dispose]()
  })

  const headersFor = async (headers: string) => {
    const { status, body, text } = await ask(lab.httpPort, 'a.example.com', '/', headers)
    assert.equal(status, 200, text)
    return JSON.parse(body).headers as Record<string, string>
  }

  const forged = [
    'x-forwarded-for: 6.6.6.6',
    'X-Forwarded-Proto: https',
    'X-Forwarded-Host: b.example.com',
    'X-Forwarded-Port: 1',
    'X-Forwarded-Prefix: /x',
    'X_Forwarded_For: 6.6.6.6',
    'X-Forwarded_For: 6.6.6.6',
    'Forwarded: for=6.6.6.6',
  ]
  for (const lines of ['X: y', ...forged, forged.join('\r\n')])
    test(`a backend learns who the client is, whatever that says itself: ${lines.replaceAll('\r\n', ', ')}`, async () => {
      const seen = await headersFor(`${lines}\r\n`)
      const names = Object.keys(seen).filter((name) => /forwarded/.test(name))
      assert.deepEqual(Object.fromEntries(names.map((name) => [name, seen[name]])), {
        'x-forwarded-for': '127.0.0.1',
        'x-forwarded-proto': 'http',
        'x-forwarded-host': 'a.example.com',
        'x-forwarded-port': String(lab.httpPort),
      })
    })

  test('each header for this hop alone ends here', async () => {
    const lines = [
      'Connection: close',
      'Connection: keep-alive',
      'Connection: x-forwarded-for',
      'Keep-Alive: 3',
      'Proxy-Connection: x',
      'Upgrade: h2c',
      'HTTP2-Settings: AAA',
    ]
    for (const line of lines) {
      const seen = await headersFor(`${line}\r\n`)
      for (const name of ['connection', 'keep-alive', 'proxy-connection', 'upgrade', 'http2-settings'])
        assert.ok(seen[name] === undefined || seen[name] === 'keep-alive', `${line}: ${name}: ${seen[name]}`)
      assert.equal(seen['x-forwarded-for'], '127.0.0.1')
    }
  })

  test('a host may be written in any case, with a port or a last dot, and is passed as it was written', async () => {
    for (const name of ['A.Example.COM', 'a.example.com:80', 'a.example.com.', 'A.example.com.:8080']) {
      const { status, body } = await ask(lab.httpPort, name, '/')
      assert.equal(status, 200, name)
      const { headers } = JSON.parse(body)
      assert.deepEqual(
        [headers.host, headers['x-forwarded-host'], headers['x-forwarded-for']],
        [name, name, '127.0.0.1'],
      )
    }
  })

  test('headers for this hop alone end here, and names in Connection take no header away', async () => {
    const seen = await headersFor(
      'Connection: keep-alive, x-forwarded-for\r\nKeep-Alive: 3\r\nProxy-Connection: x\r\nUpgrade: h2c\r\nHTTP2-Settings: AAA\r\n',
    )
    for (const name of ['connection', 'keep-alive', 'proxy-connection', 'upgrade', 'http2-settings'])
      assert.ok(seen[name] === undefined || seen[name] === 'keep-alive', name)
    assert.equal(seen['x-forwarded-for'], '127.0.0.1')
  })

  test('an absolute target without a Host header names the host, also in X-Forwarded-Host', async () => {
    const { body } = await sendRaw(lab.httpPort, 'GET http://a.example.com/x HTTP/1.0\r\n\r\n')
    const { url, headers } = JSON.parse(body)
    assert.deepEqual([url, headers.host, headers['x-forwarded-host']], ['/x', 'a.example.com', 'a.example.com'])
  })

  test('a request gets an identifier and a trace unless it brings valid ones', async () => {
    const made = await headersFor('x-request-id: bad id\r\ntraceparent: 00-0-0-0\r\ntracestate: a=b\r\n')
    assert.match(made['x-request-id'] ?? '', /^[0-9]{32}$/)
    assert.match(made['traceparent'] ?? '', /^00-[0-9a-f]{32}-[0-9a-f]{16}-00$/)
    assert.equal(made['tracestate'], undefined)
    for (const line of ['', 'x-request-id: bad id\r\n', 'tracestate: a=b\r\n', 'traceparent: 00-0-0-0\r\n']) {
      const seen = await headersFor(line)
      assert.match(seen['x-request-id'] ?? '', /^[0-9]{32}$/)
      assert.equal(seen['traceparent'], `00-${seen['x-request-id']}-0000000000000001-00`)
      assert.equal(seen['tracestate'], undefined)
    }
    const trace = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'
    const kept = await headersFor(`x-request-id: abc-1\r\ntraceparent: ${trace}\r\ntracestate: a=b\r\n`)
    assert.deepEqual([kept['x-request-id'], kept['traceparent'], kept['tracestate']], ['abc-1', trace, 'a=b'])
    for (const wrong of [
      trace.replace('0af7651916cd43dd8448eb211c80319c', '0'.repeat(32)),
      `${trace}-x`,
      `ff${trace.slice(2)}`,
    ])
      assert.notEqual((await headersFor(`traceparent: ${wrong}\r\n`))['traceparent'], wrong)
  })

  test('the path is passed as it was sent, and an absolute target is reduced to its path', async () => {
    for (const path of ['/a/../b', '//a', '/a%2Fb', '/%', '/a;b?c=/../d', '/a"<>\\^`{|}'])
      assert.equal(JSON.parse((await ask(lab.httpPort, 'a.example.com', path)).body).url, path)
    const absolute = await ask(lab.httpPort, 'a.example.com', 'http://a.example.com/x?y')
    assert.equal(JSON.parse(absolute.body).url, '/x?y')
    const bare = await ask(lab.httpPort, 'a.example.com', 'http://a.example.com')
    assert.equal(JSON.parse(bare.body).url, '/')
  })

  const host = 'Host: a.example.com\r\n'
  const chunked = 'Transfer-Encoding: chunked\r\n'
  const refused: Readonly<Record<string, string>> = {
    'two Host headers that differ': `GET / HTTP/1.1\r\n${host}Host: b.example.com\r\n\r\n`,
    'no Host header': 'GET / HTTP/1.1\r\n\r\n',
    'a Host header that is no host': 'GET / HTTP/1.1\r\nHost: a.example.com#/x\r\n\r\n',
    'a Host header with a path': 'GET /x HTTP/1.1\r\nHost: a.example.com/\r\n\r\n',
    'an authority that is not the Host header': `GET http://b.example.com/ HTTP/1.1\r\n${host}\r\n`,
    'a NUL in a header': `GET / HTTP/1.1\r\n${host}X: a\0b\r\n\r\n`,
    'a bare CR in a header': `GET / HTTP/1.1\r\n${host}X: a\rb\r\n\r\n`,
    'a space before a colon': 'GET / HTTP/1.1\r\nHost : a.example.com\r\n\r\n',
    'Content-Length twice': `POST / HTTP/1.1\r\n${host}Content-Length: 1\r\nContent-Length: 2\r\n\r\nab`,
    'a Content-Length with a sign': `POST / HTTP/1.1\r\n${host}Content-Length: +1\r\n\r\na`,
    'an unknown transfer coding': `POST / HTTP/1.1\r\n${host}Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n`,
    'a transfer coding after chunked': `POST / HTTP/1.1\r\n${host}Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n`,
    'chunked twice': `POST / HTTP/1.1\r\n${host}${chunked}${chunked}\r\n0\r\n\r\n`,
    'chunked in HTTP/1.0': `POST / HTTP/1.0\r\n${host}${chunked}\r\n0\r\n\r\n`,
    'TE.CL with a hidden coding': `POST / HTTP/1.1\r\n${host}Content-Length: 4\r\nTransfer-Encoding: \x0bchunked\r\n\r\n0\r\n\r\n`,
    'a fragment': `GET /#x HTTP/1.1\r\n${host}\r\n`,
    'HTTP/0.9': 'GET /\r\n\r\n',
    'a header of twenty kilobytes': `GET / HTTP/1.1\r\n${host}X: ${'a'.repeat(20_000)}\r\n\r\n`,
  }
  for (const [title, bytes] of Object.entries(refused)) {
    test(`${title}: 400`, async () => {
      const { status, text, body } = await sendRaw(lab.httpPort, bytes)
      assert.equal(status, 400, text)
      // The answer of the backend, which refuses some of these too, has no body.
      assert.match(body, /bad request|invalid request/)
    })
  }

  test('other refusals: 405 for CONNECT, 413 for a long body, 422 for a coding before chunked, 408 for slow headers', async () => {
    const statusOf = async (bytes: string) => (await sendRaw(lab.httpPort, bytes, 4000)).status
    const statuses = await Promise.all([
      statusOf(`CONNECT a.example.com:80 HTTP/1.1\r\n${host}\r\n`),
      statusOf(`POST / HTTP/1.1\r\n${host}Content-Length: 1001\r\n\r\n`),
      statusOf(`POST / HTTP/1.1\r\n${host}Content-Length: 1001\r\n\r\n${'x'.repeat(1001)}`),
      statusOf(`POST / HTTP/1.1\r\n${host}Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n`),
      statusOf(`GET / HTTP/1.1\r\n${host}`),
    ])
    assert.deepEqual(statuses, [405, 413, 413, 422, 408])
  })

  test('with Content-Length and chunked the chunks count, and what follows is no second request', async () => {
    const smuggled = `POST / HTTP/1.1\r\n${host}Content-Length: 6\r\n${chunked}\r\n0\r\n\r\nGET /second HTTP/1.1\r\n${host}\r\n`
    const { text, isClosed } = await sendRaw(lab.httpPort, smuggled, 1000, 2)
    assert.equal(text.match(/HTTP\/1\.1 200/g)?.length, 1)
    assert.ok(isClosed)
    assert.doesNotMatch(text, /"content-length":/)
  })

  test('folded headers and bare line feeds are passed on in the one form that is allowed', async () => {
    const { status, body } = await sendRaw(lab.httpPort, `GET / HTTP/1.1\n${host.replace('\r', '')}X: a\r\n b\n\n`)
    assert.equal(status, 200)
    assert.match(JSON.parse(body).headers.x, /^a +b$/)
  })

  test('every answer is counted by Ingress, class of host and code, and logged', async () => {
    const before = new Map(
      (await lab.driver.answerCounts()).map(({ ingress, host: kind, code, count }) => [
        `${ingress} ${kind} ${code}`,
        count,
      ]),
    )
    await ask(lab.httpPort, 'a.example.com', '/logged?secret')
    await ask(lab.httpPort, 'a.example.com', '/logged')
    await ask(lab.httpPort, 'b.example.com', '/logged-404')
    const counts = new Map(
      (await lab.driver.answerCounts()).map(({ ingress, host: kind, code, count }) => [
        `${ingress} ${kind} ${code}`,
        count,
      ]),
    )
    const more = (key: string) => (counts.get(key) ?? 0) - (before.get(key) ?? 0)
    assert.equal(more('default/test exact 200'), 2)
    assert.equal(more('undefined none 404'), 1)
    // Each thread of haproxy writes its own lines, so those of requests before these may come after them.
    const lines = () => lab.served.filter(({ path }) => path.startsWith('/logged'))
    await until('the requests are logged', () => lines().length >= 3)
    const [first] = lab.served.filter(({ path }) => path === '/logged')
    assert.ok(first)
    assert.equal(first.ingress, 'default/test')
    assert.equal(first.service, 'default/web-1')
    assert.equal(first.pattern, 'a.example.com')
    assert.equal(first.status, 200)
    assert.equal(first.endpoint, `127.0.0.1:${servers.ports[0]}`)
    assert.equal(first.fault, undefined)
    assert.equal(lines().find(({ host: name }) => name === 'b.example.com')?.ingress, undefined)
  })
})
