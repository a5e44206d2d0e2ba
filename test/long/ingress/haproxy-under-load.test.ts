import assert from 'node:assert/strict'
import { Agent, request } from 'node:http'
import { describe, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { findProcess } from '../../../src/host/index.ts'
import type { Backend, RoutingTable } from '../../../src/model/routing-table.ts'
import {
  ask,
  EchoServers,
  HaproxyLab,
  haproxySkipReason,
  wholeChange,
  withEndpoints,
} from '../../helpers/haproxy-lab.ts'
import { routingTable } from '../../helpers/routing-tables.ts'
import { createSelfSigned } from '../../helpers/self-signed.ts'
import { until } from '../../helpers/until.ts'

/** Asks without pause on connections that stay open, and keeps what failed. */
class Load {
  readonly failures: string[] = []
  answered = 0
  readonly clients = 16
  readonly #agent = new Agent({ keepAlive: true, maxSockets: this.clients })
  readonly #clients: readonly Promise<void>[]
  #isOver = false

  constructor(port: number) {
    this.#clients = Array.from({ length: this.clients }, () => this.#askOn(port))
  }

  async end(): Promise<void> {
    this.#isOver = true
    await Promise.all(this.#clients)
    this.#agent.destroy()
  }

  async #askOn(port: number): Promise<void> {
    while (!this.#isOver) {
      const result = await this.#askOnce(port)
      if (result === 200) this.answered += 1
      else {
        this.failures.push(String(result))
        await sleep(10)
      }
    }
  }

  #askOnce(port: number): Promise<number | string> {
    return new Promise((resolve) => {
      const options = {
        port,
        agent: this.#agent,
        path: '/steady',
        headers: { host: 'steady.example.com' },
        timeout: 10_000,
      }
      const sent = request(options, (answer) => answer.resume().on('end', () => resolve(answer.statusCode ?? 0)))
      sent.on('error', (error) => resolve(error.message)).end()
    })
  }
}

/** The steady host with some endpoints, and so many Services beside it. */
function makeTable(ports: readonly number[], services: number, certificates: RoutingTable['certificates'] = []) {
  const others = Array.from({ length: services }, (_, index) => `/s${index}`)
  const table = routingTable({ 'steady.example.com': { prefix: ['/steady'] }, 'other.example.com': { prefix: others } })
  return { ...withEndpoints(table, () => ports), certificates }
}

function certificate() {
  const { cert, key } = createSelfSigned()
  return { secret: 'a/b', hosts: ['steady.example.com'], fingerprint: cert, chainPem: cert, keyPem: key, notAfterMs: 0 }
}

describe('haproxy under load', { skip: haproxySkipReason() }, () => {
  test('no request fails while endpoints, routes and certificates change, with and without reloads', async (context) => {
    await using lab = await HaproxyLab.create()
    using servers = await EchoServers.start(4)
    const [one = 0, two = 0, three = 0, four = 0] = servers.ports
    await lab.driver.start()
    let table: RoutingTable = makeTable([one], 1)
    const apply = async (next: RoutingTable) => {
      const change = wholeChange(table, next)
      table = next
      assert.deepEqual(await lab.driver.apply(next, change), [])
    }
    await apply(table)
    const load = new Load(lab.httpPort)
    for (let round = 0; round < 40; round += 1) {
      await apply(makeTable([two, three], round, table.certificates))
      await apply(makeTable([four], round, table.certificates))
      await apply(makeTable([one, four], 40 - round, round % 5 === 0 ? [certificate()] : table.certificates))
      await sleep(20)
    }
    await apply(makeTable([one], 60))
    await apply(makeTable([one], 200))
    await apply(makeTable([two], 500))
    await sleep(500)
    await load.end()
    context.diagnostic(`${load.answered} requests, ${JSON.stringify(lab.driver.work)}`)
    assert.deepEqual(load.failures, [])
    assert.ok(lab.driver.work.reloads >= 3)
  })

  test('requests meet an endpoint change within 50 ms', async (context) => {
    await using lab = await HaproxyLab.create()
    using servers = await EchoServers.start(2)
    const tables = servers.ports.map((port) => makeTable([port], 2000))
    const [first, second] = tables
    assert.ok(first && second)
    await lab.driver.apply(first, wholeChange(first))
    const backend = [...first.backends.keys()][0] ?? ''
    let current: RoutingTable = first
    const durationsMs: number[] = []
    for (let round = 0; round < 200; round += 1) {
      const changed: Backend | undefined = (round % 2 === 0 ? second : first).backends.get(backend)
      assert.ok(changed)
      current = { ...current, backends: new Map(current.backends).set(backend, changed) }
      const startMs = performance.now()
      await lab.driver.apply(current, { hosts: new Set(), backends: new Set([backend]), certificates: false })
      const { body } = await ask(lab.httpPort, 'steady.example.com', '/steady')
      durationsMs.push(performance.now() - startMs)
      assert.equal(JSON.parse(body).port, changed.endpoints[0]?.port)
    }
    durationsMs.sort((one, other) => one - other)
    const [median = 0, p99 = 0] = [durationsMs[100], durationsMs[197]]
    context.diagnostic(`2,000 Services: median ${median.toFixed(1)} ms, p99 ${p99.toFixed(1)} ms`)
    assert.ok(p99 <= 50)
  })

  for (const which of ['worker', 'master'] as const) {
    test(`kill -9 of the ${which} fails only requests in flight: no connection is refused`, async (context) => {
      await using lab = await HaproxyLab.create()
      using servers = await EchoServers.start(1)
      await lab.driver.start()
      const table = makeTable(servers.ports, 1)
      await lab.driver.apply(table, wholeChange(table))
      const load = new Load(lab.httpPort)
      await sleep(200)
      const startMs = performance.now()
      const pids = await lab.processes()
      process.kill(pids[which], 'SIGKILL')
      await until('the worker has ended', () => findProcess(pids.worker) === undefined)
      const answered = load.answered
      await until('requests are answered', () => load.answered > answered)
      const tookMs = performance.now() - startMs
      await sleep(200)
      await load.end()
      context.diagnostic(`${Math.round(tookMs)} ms, ${load.failures.length} requests failed: ${load.failures.join()}`)
      assert.ok(load.failures.length <= load.clients, `${load.failures.length} requests of ${load.clients} clients`)
      assert.ok(!load.failures.some((failure) => failure.includes('ECONNREFUSED')), load.failures.join())
      assert.ok(tookMs < 1000)
    })
  }
})
