import assert from 'node:assert/strict'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer, type IncomingMessage, request, type Server } from 'node:http'
import type { ClientHttp2Session } from 'node:http2'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { HaproxyLab, haproxySkipReason, testLimits, withEndpoints } from '../../../helpers/haproxy-lab.ts'
import { routingTable } from '../../../helpers/routing-tables.ts'
import { until } from '../../../helpers/until.ts'

const host = 'a.example.com'
const limit = 100_000

/** Answers with what it got, once the body has ended; `received` counts the bytes of all bodies. */
function startServer(): { readonly server: Server; readonly received: () => number } {
  let all = 0
  const server = createServer((asked, answer) => {
    if (asked.url === '/echo') return void asked.pipe(answer)
    let bytes = 0
    asked.on('data', (chunk) => {
      bytes += chunk.length
      all += chunk.length
    })
    asked.on('error', () => {})
    const { url, headers } = asked
    asked.on('end', () => answer.end(JSON.stringify({ bytes, url, headers, trailers: asked.trailers })))
  })
  return { server, received: () => all }
}

describe('haproxy limits bodies', { skip: haproxySkipReason() }, () => {
  const { server, received } = startServer()
  let lab: HaproxyLab
  let session: ClientHttp2Session

  before(async () => {
    lab = await HaproxyLab.create({ accessLog: 1, limits: { ...testLimits, maxBodyBytes: limit } })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const { port } = server.address() as AddressInfo
    const hosts = { [host]: { prefix: ['/'] }, '*.example.org': { prefix: ['/'] } }
    session = await lab.openSession(withEndpoints(routingTable(hosts), () => [port]))
  })
  after(async () => {
    session.destroy()
    await lab[Symbol.asyncDispose]()
    server.closeAllConnections()
    server.close()
  })

  interface Sent {
    readonly status: number
    readonly body: string
  }

  interface SendOptions {
    readonly path?: string
    readonly host?: string
    readonly length?: number
    readonly sum?: string
  }

  /**
   * Sends a body in parts of 10 kB. A length is declared where it is given; the body then waits until it is asked for, because haproxy closes the
   * connection of a body that it refuses at once, and a write to a closed connection makes Node drop the answer.
   */
  async function sendHttp1(bytes: number, options: SendOptions = {}): Promise<Sent> {
    const { path = '/', length, sum } = options
    const headers = {
      host: options.host ?? host,
      ...(length !== undefined && { 'content-length': length, expect: '100-continue' }),
      ...(sum !== undefined && { trailer: 'x-sum' }),
    }
    const asked = request({ port: lab.httpPort, method: 'POST', path, headers, agent: false })
    const answered = once(asked, 'response')
    asked.on('error', () => {})
    if (length !== undefined) {
      asked.flushHeaders()
      const refused = await Promise.race([once(asked, 'continue').then(() => undefined), answered])
      if (refused !== undefined) return await readAnswer(refused[0])
    }
    for (let sent = 0; sent < bytes && !asked.destroyed; sent += 10_000) {
      asked.write('x'.repeat(Math.min(10_000, bytes - sent)))
      await sleep(1)
    }
    if (sum !== undefined) asked.addTrailers({ 'x-sum': sum })
    asked.end()
    const [answer] = await answered
    return await readAnswer(answer)
  }

  async function readAnswer(answer: IncomingMessage): Promise<Sent> {
    const parts = await answer.toArray()
    return { status: answer.statusCode ?? 0, body: Buffer.concat(parts).toString() }
  }

  async function sendHttp2(bytes: number): Promise<Sent> {
    const stream = session.request({ ':method': 'POST', ':path': '/h2', ':authority': host }, { endStream: false })
    const answered = once(stream, 'response')
    stream.on('error', () => {})
    for (let sent = 0; sent < bytes && !stream.destroyed; sent += 10_000) {
      stream.write('x'.repeat(Math.min(10_000, bytes - sent)))
      await sleep(1)
    }
    stream.end()
    const [answer] = await answered
    const parts = await stream.toArray().catch(() => [])
    return { status: Number(answer[':status']), body: Buffer.concat(parts).toString() }
  }

  for (const [title, send] of [
    ['chunked', sendHttp1],
    ['of HTTP/2 without a length', sendHttp2],
    ['with Content-Length', (bytes: number) => sendHttp1(bytes, { length: bytes })],
  ] as const) {
    test(`one ${title} passes up to the limit, and is answered 413 beyond it`, async () => {
      const whole = await send(limit)
      assert.equal(whole.status, 200, whole.body)
      assert.equal(JSON.parse(whole.body).bytes, limit)
      // haproxy may count the end of a body as a byte, or not, so the limit is one byte more.
      const beyond = await send(limit + 2)
      assert.equal(beyond.status, 413)
      // A client that is still sending when its stream ends may lose the text.
      assert.match(beyond.body, /^(?:the body of the request is too large\n)?$/)
    })
  }

  test('the endpoint gets no more than the limit of a body without an end', async () => {
    const before = received()
    assert.equal((await sendHttp1(limit * 20)).status, 413)
    assert.ok(received() - before <= limit + 50_000, `${received() - before} bytes`)
  })

  test('a request whose body has no length is passed as any other: path, headers, trailers, wildcard hosts', async () => {
    const path = '/a/../b//c%2Fd?e=/../f'
    const { body } = await sendHttp1(50_000, { path, host: 'X.example.org', sum: 'abc' })
    const { url, headers, trailers } = JSON.parse(body)
    assert.equal(url, path)
    const forwarded = [
      headers['x-forwarded-for'],
      headers['x-forwarded-host'],
      headers['x-forwarded-proto'],
      headers.host,
    ]
    assert.deepEqual(forwarded, ['127.0.0.1', 'X.example.org', 'http', 'X.example.org'])
    assert.match(headers['x-request-id'], /^[0-9]{32}$/)
    assert.equal(headers['x-platnet-route'], undefined)
    assert.deepEqual(trailers, { 'x-sum': 'abc' })
  })

  test('a client that waits for 100 Continue before such a body gets it', async () => {
    const headers = { host, expect: '100-continue', 'transfer-encoding': 'chunked' }
    const asked = request({ port: lab.httpPort, method: 'POST', headers, agent: false })
    asked.flushHeaders()
    await once(asked, 'continue')
    asked.end('body')
    const [answer] = await once(asked, 'response')
    assert.equal(JSON.parse(Buffer.concat(await answer.toArray()).toString()).bytes, 4)
  })

  test('a stream in both directions passes: the answer begins before the body ends', async () => {
    const stream = session.request({ ':method': 'POST', ':path': '/echo', ':authority': host }, { endStream: false })
    stream.write('one')
    const [answer] = await once(stream, 'response')
    assert.equal(answer[':status'], 200)
    const [first] = await once(stream, 'data')
    stream.end('two')
    const rest = await stream.toArray()
    assert.equal(Buffer.concat([first, ...rest]).toString(), 'onetwo')
  })

  test('it is counted and logged once, for its Ingress', async () => {
    const count = async () =>
      (await lab.driver.answerCounts())
        .filter(({ host: kind }) => kind === 'exact')
        .reduce((sum, { count: n }) => sum + n, 0)
    const before = await count()
    await sendHttp1(20_000, { path: '/once' })
    assert.equal((await count()) - before, 1)
    // Each thread of haproxy writes its own lines, so those of requests before this one may come after it.
    const lines = () => lab.served.filter(({ path }) => path === '/once')
    await until('the request is logged', () => lines().length > 0)
    assert.equal(lines().length, 1)
    assert.equal(lines()[0]?.ingress, 'default/test')
    assert.equal(lines()[0]?.service, 'default/web-1')
    assert.equal(lines()[0]?.endpoint, `127.0.0.1:${(server.address() as AddressInfo).port}`)
  })

  test('one that is refused ends none of the others', async () => {
    const sizes = Array.from({ length: 40 }, (_, index) => (index % 4 === 0 ? limit + 2 : limit))
    const answers = await Promise.all(sizes.map((bytes) => sendHttp1(bytes)))
    assert.deepEqual(
      answers.map(({ status }) => status),
      sizes.map((bytes) => (bytes > limit ? 413 : 200)),
    )
  })

  test('many at once are all answered, on all threads, by one worker whose script does not fail', async () => {
    const { worker } = await lab.processes()
    for (let round = 0; round < 3; round += 1) {
      const answers = await Promise.allSettled(Array.from({ length: 300 }, () => sendHttp1(30_000)))
      const outcomes = answers.map((each) => (each.status === 'fulfilled' ? each.value.status : String(each.reason)))
      assert.deepEqual(new Set(outcomes), new Set([200]))
    }
    assert.equal((await lab.processes()).worker, worker)
    assert.doesNotMatch(readFileSync(join(lab.folder, 'messages.log'), 'utf8'), /ALERT|Lua/)
  })
})
