import assert from 'node:assert/strict'
import { X509Certificate } from 'node:crypto'
import { Agent, request } from 'node:http'
import { Agent as SecureAgent, request as secureRequest } from 'node:https'
import { describe, test } from 'node:test'
import { connect } from 'node:tls'
import { findProcess } from '../../../../src/host/index.ts'
import type { RoutingTable, ServedCertificate } from '../../../../src/model/routing-table.ts'
import { HaproxyProcess } from '../../../../src/node/ingress/haproxy/process.ts'
import {
  ask,
  EchoServers,
  HaproxyLab,
  haproxySkipReason,
  sendRaw,
  wholeChange,
  withEndpoints,
} from '../../../helpers/haproxy-lab.ts'
import { routingTable } from '../../../helpers/routing-tables.ts'
import { createSelfSigned } from '../../../helpers/self-signed.ts'
import { until } from '../../../helpers/until.ts'

const nothing: RoutingTable = { hosts: new Map(), backends: new Map(), certificates: [] }
const oneHost = routingTable({ 'a.example.com': { prefix: ['/'] } })

function certificateFor(hosts: readonly string[], secret = 'default/tls'): ServedCertificate & { sha: string } {
  const { cert, key } = createSelfSigned()
  const sha = new X509Certificate(cert).fingerprint256
  return { secret, hosts, fingerprint: sha, chainPem: cert, keyPem: key, notAfterMs: 0, sha }
}

/** The certificate that a client gets who asks for a name. */
async function servedCertificate(port: number, servername: string): Promise<string> {
  const socket = connect({ host: '127.0.0.1', port, servername, rejectUnauthorized: false })
  await new Promise((resolve, reject) => socket.once('secureConnect', resolve).once('error', reject))
  const sha = socket.getPeerCertificate().fingerprint256
  socket.destroy()
  return sha
}

interface Echo {
  readonly port: number
  readonly headers: Readonly<Record<string, string>>
}

/** A client that uses its connection again where the server allows it. */
class KeptConnection {
  localPort: number | undefined
  readonly #agent: Agent | SecureAgent
  readonly #lab: HaproxyLab
  readonly #scheme: 'http' | 'https'

  constructor(lab: HaproxyLab, scheme: 'http' | 'https') {
    this.#lab = lab
    this.#scheme = scheme
    this.#agent = new (scheme === 'http' ? Agent : SecureAgent)({ keepAlive: true, maxSockets: 1 })
  }

  async ask(): Promise<Echo> {
    const options = { agent: this.#agent, path: '/p0', headers: { host: 'a.example.com' } }
    const body = await new Promise<string>((resolve, reject) => {
      const sent =
        this.#scheme === 'http'
          ? request({ port: this.#lab.httpPort, ...options })
          : secureRequest({
              port: this.#lab.httpsPort,
              servername: 'a.example.com',
              rejectUnauthorized: false,
              ...options,
            })
      sent.on('response', async (answer) => resolve((await answer.toArray()).join('')))
      sent.on('finish', () => {
        this.localPort = sent.socket?.localPort
      })
      sent.on('error', reject).end()
    })
    return JSON.parse(body)
  }

  [Symbol.dispose](): void {
    this.#agent.destroy()
  }
}

const portOf = async (lab: HaproxyLab, host: string, path = '/') => {
  const { status, body } = await ask(lab.httpPort, host, path)
  return status === 200 ? JSON.parse(body).port : status
}

describe('haproxy follows changes without a reload', { skip: haproxySkipReason() }, () => {
  test('endpoints come and go, also beyond the servers that were there, and a backend without endpoints answers 503', async () => {
    await using lab = await HaproxyLab.create()
    using servers = await EchoServers.start(4)
    const table = routingTable({ 'a.example.com': { prefix: ['/'] } })
    let before = nothing
    for (const ports of [[0], [0, 1, 2, 3], [3], [], [1, 2], [0]].map((some) =>
      some.map((index) => servers.ports[index] ?? 0),
    )) {
      const next = withEndpoints(table, () => ports)
      assert.deepEqual(await lab.driver.apply(next, { ...wholeChange(before, next), certificates: false }), [])
      before = next
      const seen = new Set<number>()
      for (let count = 0; count < 8; count += 1) seen.add(await portOf(lab, 'a.example.com'))
      assert.deepEqual([...seen].sort(), ports.length === 0 ? [503] : [...ports].sort())
    }
    assert.deepEqual({ ...lab.driver.work, commands: 0 }, { starts: 1, reloads: 0, commands: 0 })
  })

  test('hosts, paths and Services come and go', async () => {
    await using lab = await HaproxyLab.create()
    using servers = await EchoServers.start(1)
    const make = (sketch: Parameters<typeof routingTable>[0]) =>
      withEndpoints(routingTable(sketch), () => servers.ports)
    const tables = [
      make({ 'a.example.com': { prefix: ['/'] } }),
      make({ 'a.example.com': { prefix: ['/'] }, '*.b.example.com': { exact: ['/x"\\;<<'], fallback: true } }),
      make({ 'a.example.com': { exact: ['/only'] }, '': { prefix: ['/any'] } }),
      make({}),
    ]
    const questions = [
      ['a.example.com', '/deep/path'],
      ['c.b.example.com', '/x"\\;<<'],
      ['c.b.example.com', '/y'],
      ['a.example.com', '/only'],
      ['other.example.com', '/any/x'],
    ] as const
    const found: unknown[] = []
    let before = nothing
    for (const table of tables) {
      await lab.driver.apply(table, wholeChange(before, table))
      before = table
      const statuses = questions.map(async ([host, path]) => (await ask(lab.httpPort, host, path)).status)
      found.push(await Promise.all(statuses))
    }
    assert.deepEqual(found, [
      [200, 404, 404, 200, 404],
      [200, 200, 200, 200, 404],
      [404, 404, 404, 200, 200],
      [404, 404, 404, 404, 404],
    ])
    assert.equal(lab.driver.work.reloads, 0)
  })

  test('certificates are chosen by name, replaced and removed; the default one serves all other names', async () => {
    await using lab = await HaproxyLab.create()
    const fallback = certificateFor([])
    const [one, other, next] = [
      certificateFor(['a.example.com']),
      certificateFor(['*.b.example.com']),
      certificateFor(['a.example.com']),
    ]
    const serve = (...certificates: ServedCertificate[]) =>
      lab.driver.apply({ ...oneHost, certificates }, { hosts: new Set(), backends: new Set(), certificates: true })
    const names = ['a.example.com', 'x.b.example.com', 'y.example.com']
    const served = () => Promise.all(names.map((name) => servedCertificate(lab.httpsPort, name)))
    await serve(fallback, one)
    assert.deepEqual(await served(), [one.sha, fallback.sha, fallback.sha])
    await serve(fallback, one, other)
    assert.deepEqual(await served(), [one.sha, other.sha, fallback.sha])
    await serve(fallback, next, other)
    assert.deepEqual(await served(), [next.sha, other.sha, fallback.sha])
    const newFallback = certificateFor([])
    await serve(newFallback, next)
    assert.deepEqual(await served(), [next.sha, newFallback.sha, newFallback.sha])
    assert.equal(lab.driver.work.reloads, 0)
  })

  test('a certificate that haproxy refuses is set aside and named, in commands and in files; the rest is served', async () => {
    await using lab = await HaproxyLab.create()
    const good = certificateFor([])
    const bad = { ...certificateFor(['bad.example.com'], 'default/bad'), keyPem: createSelfSigned().key }
    const serve = (...certificates: ServedCertificate[]) =>
      lab.driver.apply({ ...oneHost, certificates }, { hosts: new Set(), backends: new Set(), certificates: true })
    const first = await serve(good, bad)
    assert.deepEqual(
      first.map(({ kind, key }) => [kind, key]),
      [['Secret', 'default/bad']],
    )
    assert.equal(await servedCertificate(lab.httpsPort, 'bad.example.com'), good.sha)
    await lab.driver.stop({ signal: AbortSignal.timeout(5000) })
    await lab.restartDriver()
    const second = await serve(good, bad, certificateFor(['new.example.com']))
    assert.deepEqual(
      second.map(({ kind, key }) => [kind, key]),
      [['Secret', 'default/bad']],
    )
  })

  test('without an Ingress every request is answered 404', async () => {
    await using lab = await HaproxyLab.create()
    assert.equal(lab.driver.isServing, false)
    await lab.driver.apply(nothing, wholeChange(nothing))
    assert.equal(await portOf(lab, 'a.example.com'), 404)
  })

  test('a path that no request can have is refused by name of its Ingress; the rest is served', async () => {
    await using lab = await HaproxyLab.create()
    using servers = await EchoServers.start(1)
    const table = withEndpoints(routingTable({ 'a.example.com': { prefix: ['/a b', '/c'] } }), () => servers.ports)
    const refusals = await lab.driver.apply(table, wholeChange(table))
    assert.deepEqual(
      refusals.map(({ kind, key }) => [kind, key]),
      [['Ingress', 'default/test']],
    )
    assert.equal(await portOf(lab, 'a.example.com', '/c'), servers.ports[0])
  })

  test('more Services than spare backends cost one reload, which keeps what is served', async () => {
    await using lab = await HaproxyLab.create()
    using servers = await EchoServers.start(1)
    const many = (count: number) =>
      withEndpoints(
        routingTable({ 'a.example.com': { prefix: Array.from({ length: count }, (_, index) => `/p${index}`) } }),
        () => servers.ports,
      )
    await lab.driver.apply(many(2), wholeChange(many(2)))
    await lab.driver.apply(many(18), wholeChange(many(18)))
    assert.equal(lab.driver.work.reloads, 0)
    await lab.driver.apply(many(40), wholeChange(many(40)))
    assert.equal(lab.driver.work.reloads, 1)
    await lab.driver.apply(many(80), wholeChange(many(80)))
    assert.equal(lab.driver.work.reloads, 1)
    for (const path of ['/p0', '/p17', '/p79']) assert.equal(await portOf(lab, 'a.example.com', path), servers.ports[0])
  })
})

describe('a connection that was idle at a reload', { skip: haproxySkipReason() }, () => {
  for (const scheme of ['http', 'https'] as const)
    test(`has its next request of ${scheme} answered by the new routes, with the client's address, and counted once`, async () => {
      await using lab = await HaproxyLab.create()
      using servers = await EchoServers.start(2)
      const [first = 0, second = 0] = servers.ports
      const certificates = [certificateFor(['a.example.com'])]
      const many = (count: number, port: number) => {
        const paths = Array.from({ length: count }, (_, index) => `/p${index}`)
        return { ...withEndpoints(routingTable({ 'a.example.com': { prefix: paths } }), () => [port]), certificates }
      }
      using client = new KeptConnection(lab, scheme)
      await lab.driver.apply(many(1, first), wholeChange(many(1, first)))
      assert.equal((await client.ask()).port, first)
      const localPort = client.localPort
      await lab.driver.apply(many(40, second), wholeChange(many(40, second)))
      assert.equal(lab.driver.work.reloads, 1)
      const { port, headers } = await client.ask()
      assert.deepEqual({ port, localPort: client.localPort }, { port: second, localPort })
      assert.equal(headers['x-forwarded-for'], '127.0.0.1')
      assert.equal(headers['x-forwarded-proto'], scheme)
      assert.equal(headers['x-forwarded-port'], String(scheme === 'http' ? lab.httpPort : lab.httpsPort))
      assert.equal((await client.ask()).port, second)
      assert.notEqual(client.localPort, localPort)
      const counts = await lab.driver.answerCounts()
      assert.equal(
        counts.map(({ count }) => count).reduce((sum, count) => sum + count, 0),
        3,
      )
    })
})

describe('haproxy outlives the driver', { skip: haproxySkipReason() }, () => {
  test('a new driver finds it, needs no command where nothing changed, and only the changes otherwise', async () => {
    await using lab = await HaproxyLab.create()
    using servers = await EchoServers.start(2)
    const make = (port: number) => ({
      ...withEndpoints(
        routingTable({ 'a.example.com': { prefix: ['/', '/x'], exact: ['/e'] }, '': { fallback: true } }),
        () => [port],
      ),
      certificates: [certificate, defaultCertificate],
    })
    const [certificate, defaultCertificate] = [certificateFor(['a.example.com']), certificateFor([])]
    const [first = 0, second = 0] = servers.ports
    await lab.driver.apply(make(first), wholeChange(make(first)))
    await lab.driver.apply(make(second), wholeChange(make(second)))
    await lab.restartDriver()
    assert.equal(await portOf(lab, 'a.example.com'), second)
    await lab.driver.apply(make(second), wholeChange(make(second)))
    assert.deepEqual(lab.driver.work, { starts: 0, reloads: 0, commands: 0 })
    await lab.restartDriver()
    await lab.driver.apply(make(first), wholeChange(make(first)))
    assert.equal(await portOf(lab, 'a.example.com'), first)
    assert.deepEqual({ ...lab.driver.work, commands: 0 }, { starts: 0, reloads: 0, commands: 0 })
  })

  test('a new driver writes maps anew that an interrupted change has left in disorder', async () => {
    await using lab = await HaproxyLab.create()
    using servers = await EchoServers.start(2)
    const [first = 0] = servers.ports
    const ports = [...servers.ports]
    const sketch = { 'a.example.com': { prefix: ['/'] }, 'b.example.com': { prefix: ['/'] } }
    const table = withEndpoints(routingTable(sketch), () => [ports.shift() ?? 0])
    await lab.driver.apply(table, wholeChange(table))
    const disorder = [
      'del map hosts.map a.example.com',
      'add map paths.map b.example.com/x/ rr.h1.1|exact|default/test',
      'add map paths.map b.example.com/x/ rr.h1.2|exact|default/test',
    ]
    await new HaproxyProcess(lab.folder).ask(async (socket) => {
      for (const command of disorder) assert.equal(await socket.ask(command), '')
    })
    assert.equal(await portOf(lab, 'A.example.com'), 404)
    assert.equal(await portOf(lab, 'b.example.com', '/x/y'), first)
    await lab.restartDriver()
    await lab.driver.apply(table, wholeChange(table))
    assert.equal(await portOf(lab, 'a.example.com'), first)
    assert.equal(await portOf(lab, 'b.example.com', '/x/y'), servers.ports[1])
    assert.equal(lab.driver.work.reloads, 0)
  })

  test('a new driver with other settings reloads it once', async () => {
    await using lab = await HaproxyLab.create()
    using servers = await EchoServers.start(1)
    const table = withEndpoints(routingTable({ 'a.example.com': { prefix: ['/'] } }), () => servers.ports)
    await lab.driver.apply(table, wholeChange(table))
    await lab.restartDriver({ limits: { ...lab.parts.limits, requestsPerClient: 3, connectionsPerClient: 5 } })
    await lab.driver.apply(table, wholeChange(table))
    assert.equal(lab.driver.work.reloads, 1)
    const statuses = await Promise.all(
      Array.from({ length: 5 }, async () => (await ask(lab.httpPort, 'a.example.com', '/')).status),
    )
    // Requests that arrive together are all counted before the first of them is judged.
    const refused = statuses.filter((status) => status === 429).length
    assert.ok(refused >= 2 && statuses.every((status) => status === 200 || status === 429), statuses.join())
    const open = await Promise.all(Array.from({ length: 7 }, () => sendRaw(lab.httpPort, 'GET ', 300)))
    assert.equal(open.filter(({ isClosed }) => isClosed).length, 2)
  })

  for (const which of ['master', 'worker'] as const) {
    test(`after kill -9 of the ${which} connections wait for the next haproxy, which has the newest routes`, async () => {
      await using lab = await HaproxyLab.create()
      using servers = await EchoServers.start(2)
      const table = routingTable({ 'a.example.com': { prefix: ['/'] } })
      const [first = 0, second = 0] = servers.ports
      await lab.driver.start()
      await lab.driver.apply(
        withEndpoints(table, () => [first]),
        wholeChange(table),
      )
      await lab.driver.apply(
        withEndpoints(table, () => [second]),
        wholeChange(table),
      )
      if (which === 'worker') {
        await lab.restartDriver()
        await lab.driver.apply(
          withEndpoints(table, () => [second]),
          wholeChange(table),
        )
      }
      const pids = await lab.processes()
      process.kill(pids[which], 'SIGKILL')
      await until('the worker has ended', () => findProcess(pids.worker) === undefined)
      assert.equal(lab.driver.work.starts, which === 'worker' ? 0 : 1)
      assert.equal(await portOf(lab, 'a.example.com'), second)
      await until('the driver is healthy', () => lab.driver.health().level === 'ok')
      assert.equal(await portOf(lab, 'a.example.com'), second)
    })
  }
})
