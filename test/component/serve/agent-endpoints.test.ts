import assert from 'node:assert/strict'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import https from 'node:https'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import type { Component } from '../../../src/loop/component.ts'
import { parseIp } from '../../../src/model/ip.ts'
import { createMetrics, silentLogger } from '../../../src/observe/index.ts'
import { type AccessDelegate, createAgentEndpoints, httpListener, unixListener } from '../../../src/serve/index.ts'
import { makeThrowawayCa } from '../../helpers/certificates.ts'
import { httpGet } from '../../helpers/http-get.ts'

const proxy: Component = {
  name: 'proxy',
  start: async () => {},
  stop: async () => {},
  health: () => ({ level: 'unknown', message: 'waiting for the first list', sinceMs: 0 }),
}

interface Changes {
  readonly isPublic?: () => boolean
  readonly tokens?: readonly string[]
  readonly configz?: () => unknown
  readonly delegate?: AccessDelegate
}

function endpoints(changes: Changes = {}) {
  return createAgentEndpoints({
    usage: () => 'node_cpu_usage_seconds_total 1 2\n',
    metrics: createMetrics(),
    configz: changes.configz ?? (() => ({ options: {} })),
    components: () => [proxy],
    access: {
      isPublic: changes.isPublic ?? (() => false),
      bearerTokens: () => changes.tokens ?? [],
      ...(changes.delegate && { delegate: changes.delegate }),
    },
    log: silentLogger,
  })
}

/** Requests over a unix socket come from no address, so they are judged like those from another machine. */
async function remotely(context: TestContext, handler = endpoints()) {
  const folder = await mkdtemp(join(tmpdir(), 'platnet-agent-'))
  const socketPath = join(folder, 'x.sock')
  const listener = unixListener({ name: 'agent', path: socketPath, handler, log: silentLogger })
  await listener.start()
  context.after(async () => {
    await listener.stop({ signal: AbortSignal.timeout(0) })
    await rm(folder, { recursive: true })
  })
  return (path: string, headers: Record<string, string> = {}, method = 'GET') =>
    httpGet({ socketPath, path, headers, method })
}

test('From loopback metrics and configuration are open.', async (context) => {
  const host = parseIp('127.0.0.1') ?? assert.fail()
  const listener = httpListener({ name: 'agent', address: host, port: 0, handler: endpoints(), log: silentLogger })
  await listener.start()
  context.after(() => listener.stop({ signal: AbortSignal.timeout(0) }))
  const metrics = await httpGet({ host, port: listener.port, path: '/metrics' })
  assert.equal(metrics.status, 200)
  assert.match(metrics.headers['content-type'] ?? '', /^text\/plain; version=0\.0\.4/)
  assert.match(metrics.body, /^process_cpu_seconds_total /m)
  const configz = await httpGet({ host, port: listener.port, path: '/configz' })
  assert.equal(configz.headers['content-type'], 'application/json')
  assert.deepEqual(JSON.parse(configz.body), { options: {} })
})

test('From elsewhere metrics and configuration need a valid bearer token.', async (context) => {
  const get = await remotely(context, endpoints({ tokens: ['', 'good-token'] }))
  for (const path of ['/metrics', '/metrics/resource', '/configz']) {
    const nothing = await get(path)
    assert.equal(nothing.status, 401)
    assert.equal(nothing.headers['www-authenticate'], 'Bearer')
    assert.match(nothing.body, /^unauthorized: show a bearer token or a client certificate/)
    for (const authorization of ['Bearer bad-token', 'Bearer good-token-', 'Bearer good-toke']) {
      assert.equal((await get(path, { authorization })).status, 401, authorization)
    }
    for (const authorization of ['Bearer ', 'Basic good-token', 'good-token']) {
      assert.equal((await get(path, { authorization })).status, 401, authorization)
    }
    assert.equal((await get(path, { authorization: 'Bearer good-token' })).status, 200)
  }
})

test('The operator can open them, and the choice is read at every request.', async (context) => {
  let isPublic = false
  const get = await remotely(context, endpoints({ isPublic: () => isPublic }))
  assert.equal((await get('/metrics')).status, 401)
  isPublic = true
  assert.equal((await get('/metrics')).status, 200)
})

/** Asks over TLS with the certificate of that user and group. */
async function certified(context: TestContext, handler = endpoints()) {
  const ca = makeThrowawayCa('cluster')
  const folder = await mkdtemp(join(tmpdir(), 'platnet-agent-'))
  const { certificate: cert, key } = ca.issue('agent')
  const server = https.createServer(
    { cert, key, ca: ca.certificate, requestCert: true, rejectUnauthorized: false },
    handler,
  )
  const socketPath = join(folder, 'x.sock')
  server.listen(socketPath)
  await once(server, 'listening')
  context.after(async () => {
    server.close()
    await rm(folder, { recursive: true })
  })
  const target = { socketPath, ca: ca.certificate, servername: 'localhost' }
  const get = (path: string, user?: string, of = ca) => {
    const issued = user === undefined ? undefined : of.issue(user)
    return httpGet({ ...target, path, ...(issued && { cert: issued.certificate, key: issued.key }) })
  }
  return get
}

test("A client certificate of the cluster's CA lets in; one of another CA is forbidden.", async (context) => {
  const get = await certified(context)
  assert.equal((await get('/metrics')).status, 401)
  assert.equal((await get('/metrics', 'monitoring')).status, 200)
  const forbidden = await get('/metrics', 'monitoring', makeThrowawayCa('stranger'))
  assert.equal(forbidden.status, 403)
  assert.match(forbidden.body, /^forbidden: the client certificate/)
})

test('Where there is a delegate it decides for each identity, and its silence is a 503.', async (context) => {
  const asked: unknown[] = []
  const delegate: AccessDelegate = {
    identify: async (token) => {
      if (token === 'silent') throw new Error('inner reason')
      return token === 'sa' ? { name: 'sa', groups: ['scrapers'] } : undefined
    },
    mayRead: async (identity, what) => {
      asked.push([identity.name, identity.groups, what])
      return what === 'metrics'
    },
  }
  const get = await remotely(context, endpoints({ delegate, tokens: ['own'] }))
  const bearer = (token: string) => ({ authorization: `Bearer ${token}` })
  assert.equal((await get('/metrics', bearer('own'))).status, 200)
  assert.equal((await get('/metrics', bearer('sa'))).status, 200)
  const forbidden = await get('/configz', bearer('sa'))
  assert.deepEqual([forbidden.status, forbidden.body], [403, 'forbidden: user "sa" may not read configz here\n'])
  assert.equal((await get('/metrics', bearer('other'))).status, 401)
  const silent = await get('/metrics', bearer('silent'))
  assert.equal(silent.status, 503)
  assert.doesNotMatch(silent.body, /inner reason/)
  assert.equal((await get('/metrics')).status, 401)
  const withCertificate = await certified(context, endpoints({ delegate }))
  assert.equal((await withCertificate('/metrics', 'monitoring')).status, 200)
  assert.equal((await withCertificate('/configz', 'monitoring')).status, 403)
  assert.deepEqual(asked, [
    ['sa', ['scrapers'], 'metrics'],
    ['sa', ['scrapers'], 'configz'],
    ['monitoring', ['system:authenticated'], 'metrics'],
    ['monitoring', ['system:authenticated'], 'configz'],
  ])
})

test('Health is open to all, with verbose, exclude and one component alone.', async (context) => {
  const get = await remotely(context)
  assert.deepEqual([(await get('/livez')).status, (await get('/livez')).body], [200, 'ok'])
  assert.equal((await get('/readyz')).status, 500)
  assert.match((await get('/readyz?verbose')).body, /^\[-\]proxy failed: unknown: waiting for the first list\nreadyz/)
  assert.equal((await get('/readyz?exclude=proxy')).body, 'ok')
  assert.equal((await get('/readyz/proxy')).status, 500)
  assert.equal((await get('/readyz/nothing')).status, 404)
})

test('Other paths and methods are refused in words, HEAD has no body, and a fault is not shown to clients.', async (context) => {
  const get = await remotely(context, endpoints({ isPublic: () => true, configz: () => assert.fail('inner reason') }))
  assert.match((await get('/nothing')).body, /^no such path; there are: \/metrics /)
  const post = await get('/livez', {}, 'POST')
  assert.deepEqual([post.status, post.headers.allow], [405, 'GET, HEAD'])
  assert.equal((await get('//')).status, 400)
  const head = await get('/livez', {}, 'HEAD')
  assert.deepEqual([head.status, head.body, head.headers['content-length']], [200, '', '2'])
  const fault = await get('/configz')
  assert.equal(fault.status, 500)
  assert.doesNotMatch(fault.body, /inner reason/)
})

test('Metrics are compressed for a client that takes gzip, and are the text format whatever else it asks for.', async (context) => {
  const ask = await remotely(context, endpoints({ isPublic: () => true }))
  const accept =
    'application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75,*/*;q=0.1'
  const packed = await ask('/metrics', { accept, 'accept-encoding': 'gzip' })
  assert.equal(packed.headers['content-encoding'], 'gzip')
  assert.match(String(packed.headers['content-type']), /^text\/plain; version=0\.0\.4/)
  const refused = await ask('/metrics', { 'accept-encoding': 'br, gzip;q=0' })
  assert.equal(refused.headers['content-encoding'], undefined)
  assert.match(refused.body, /^process_open_fds \d+$/m)
  assert.ok(Number(packed.headers['content-length']) < Number(refused.headers['content-length']) / 2)
  const short = await ask('/healthz', { 'accept-encoding': 'gzip' })
  assert.equal(short.headers['content-encoding'], undefined)
})
