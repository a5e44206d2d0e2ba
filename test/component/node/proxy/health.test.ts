import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import { createProxyHealthz, createProxyMetricsListener, HealthChecks } from '../../../../src/node/proxy/index.ts'
import type { ProxyFreshness } from '../../../../src/node/proxy/view.ts'
import { LiveNodeState } from '../../../../src/node/state/index.ts'
import { readObject } from '../../../../src/node/state/stored-object.ts'
import { createMetrics, silentLogger } from '../../../../src/observe/index.ts'
import { findFreePort } from '../../../helpers/free-port.ts'
import { ip } from '../../../helpers/services.ts'
import { untilAsync } from '../../../helpers/until.ts'
import { dialect, wireService, wireSlice } from '../../../helpers/wire-objects.ts'

/** A deadline from its use on: other files of the process may run before this one. */
const scope = {
  get signal() {
    return AbortSignal.timeout(30_000)
  },
}

test("a Service's health port tells how many endpoints are ready on this node, and goes with the Service", async (t) => {
  const state = new LiveNodeState(silentLogger)
  let isProxyHealthy = true
  const checks = new HealthChecks({
    state,
    nodeName: 'n1',
    isProxyHealthy: () => isProxyHealthy,
    addresses: () => [ip('127.0.0.1')],
    log: silentLogger,
  })
  t.after(() => checks.stop(scope))
  await checks.start()
  const port = await findFreePort()
  const spec = { type: 'LoadBalancer', externalTrafficPolicy: 'Local', healthCheckNodePort: port }
  const endpoint = (address: string, nodeName: string, conditions: object = {}) => ({
    addresses: [address],
    nodeName,
    conditions,
  })
  const terminating = { ready: false, serving: true, terminating: true }
  const slice = (version: string, endpoints: readonly object[]) =>
    readObject('endpointslices', wireSlice('web-1', 'web', version, { endpoints }), dialect)
  state.replace('services', [readObject('services', wireService('web', '1', spec), dialect)], '1')
  state.replace('endpoints', [], '1')
  state.replace('endpointslices', [slice('2', [endpoint('10.244.0.1', 'n1'), endpoint('10.244.0.2', 'n2')])], '1')
  const ask = () => fetch(`http://127.0.0.1:${port}/healthz`)
  await untilAsync(
    'the port is open',
    () =>
      ask().then(
        () => true,
        () => false,
      ),
    30_000,
  )
  const sixth = wireSlice('web-2', 'web', '2', { addressType: 'IPv6', endpoints: [endpoint('fd00:244::1', 'n1')] })
  state.upsert('endpointslices', readObject('endpointslices', sixth, dialect))
  const healthy = await ask()
  assert.equal(healthy.status, 200)
  assert.deepEqual(await healthy.json(), {
    service: { namespace: 'default', name: 'web' },
    localEndpoints: 1,
    serviceProxyHealthy: true,
  })
  assert.equal((await fetch(`http://127.0.0.1:${port}/any/path`)).status, 200)
  const headers = ['content-type', 'x-content-type-options', 'x-load-balancing-endpoint-weight']
  assert.deepEqual(
    headers.map((name) => healthy.headers.get(name)),
    ['application/json', 'nosniff', '1'],
  )
  state.upsert('endpointslices', slice('3', [endpoint('10.244.0.1', 'n1', terminating), endpoint('10.244.0.2', 'n2')]))
  state.remove('endpointslices', 'default/web-2', '3')
  const going = await ask()
  assert.deepEqual([going.status, going.headers.get('x-load-balancing-endpoint-weight')], [503, '0'])
  state.upsert('endpointslices', slice('4', [endpoint('10.244.0.1', 'n1')]))
  isProxyHealthy = false
  assert.equal((await ask()).status, 503)
  state.remove('services', 'default/web', '5')
  await untilAsync(
    'the port is closed',
    () =>
      ask().then(
        () => false,
        () => true,
      ),
    30_000,
  )
})

test('health is served for our own Services only, by their own families, and counts endpoints that are for proxies', async (t) => {
  const state = new LiveNodeState(silentLogger)
  const checks = new HealthChecks({
    state,
    nodeName: 'n1',
    isProxyHealthy: () => true,
    addresses: () => [ip('127.0.0.1'), ip('::1')],
    log: silentLogger,
  })
  t.after(() => checks.stop(scope))
  await checks.start()
  const port = await findFreePort()
  const spec = { type: 'LoadBalancer', externalTrafficPolicy: 'Local', healthCheckNodePort: port }
  const service = (version: string, labels: object = {}) =>
    readObject('services', wireService('web', version, spec, labels), dialect)
  const slice = (name: string, address: string, labels: object = {}) => {
    const wire = wireSlice(name, 'web', '1', { endpoints: [{ addresses: [address], nodeName: 'n1' }] })
    const metadata = { ...wire.metadata, labels: { ...wire.metadata.labels, ...labels } }
    return readObject('endpointslices', { ...wire, metadata }, dialect)
  }
  const foreign = { [dialect.labels.serviceProxyName]: 'mesh' }
  state.replace('services', [service('1')], '1')
  state.replace('endpoints', [], '1')
  state.replace('endpointslices', [slice('web-1', '10.244.0.1'), slice('web-2', '10.244.0.2', foreign)], '1')
  const ask = (host: string) =>
    fetch(`http://${host}:${port}/`).then(
      ({ headers }) => headers.get('x-load-balancing-endpoint-weight'),
      () => undefined,
    )
  await untilAsync('the port is open', async () => (await ask('127.0.0.1')) !== undefined, 30_000)
  assert.deepEqual([await ask('127.0.0.1'), await ask('[::1]')], ['1', undefined])
  state.upsert('services', service('2', foreign))
  await untilAsync('the port is left to the other proxy', async () => (await ask('127.0.0.1')) === undefined, 30_000)
  state.upsert('services', service('3'))
  await untilAsync('the port is ours again', async () => (await ask('127.0.0.1')) === '1', 30_000)
})

test('a health port that is taken is reported once with its Service, and others are opened', async (t) => {
  const taken = createServer().listen(0, '127.0.0.1')
  await new Promise((resolve) => taken.once('listening', resolve))
  t.after(() => taken.close())
  const address = taken.address()
  const takenPort = typeof address === 'object' && address !== null ? address.port : 0
  const state = new LiveNodeState(silentLogger)
  const refused: string[] = []
  const checks = new HealthChecks({
    state,
    nodeName: 'n1',
    isProxyHealthy: () => true,
    addresses: () => [ip('127.0.0.1')],
    onRefused: (service, reason) => refused.push(`${service} ${reason}`),
    log: silentLogger,
  })
  t.after(() => checks.stop(scope))
  await checks.start()
  const port = await findFreePort()
  const service = (name: string, healthCheckNodePort: number, clusterIP: string) =>
    readObject(
      'services',
      wireService(name, '1', { type: 'LoadBalancer', externalTrafficPolicy: 'Local', healthCheckNodePort, clusterIP }),
      dialect,
    )
  state.replace('services', [service('web', takenPort, '10.96.0.1'), service('db', port, '10.96.0.2')], '1')
  state.replace('endpoints', [], '1')
  state.replace('endpointslices', [], '1')
  await untilAsync(
    'the other is open',
    () =>
      fetch(`http://127.0.0.1:${port}/`).then(
        ({ status }) => status === 503,
        () => false,
      ),
    30_000,
  )
  checks.onNodeChange()
  await untilAsync('it is said', async () => checks.health().message.includes(`127.0.0.1:${takenPort}`), 30_000)
  assert.equal(checks.health().level, 'degraded')
  assert.equal(refused.length, 1)
  assert.match(refused[0] ?? '', /^default\/web .*in use/)
})

test('the proxy is healthy unless a change waits for a minute; /healthz also tells of a node that leaves', async (t) => {
  const nowMs = Date.parse('2026-01-01T00:10:00Z')
  const families: ProxyFreshness[] = [
    { family: 'IPv4', pendingSinceMs: undefined, lastSyncMs: nowMs - 600_000 },
    { family: 'IPv6', pendingSinceMs: nowMs - 59_000, lastSyncMs: nowMs - 300_000 },
  ]
  let isNodeEligible = true
  const metrics = createMetrics()
  const healthz = createProxyHealthz({
    address: ip('127.0.0.1'),
    port: 0,
    freshness: () => families,
    isNodeEligible: () => isNodeEligible,
    metrics,
    log: silentLogger,
    now: () => nowMs,
  })
  t.after(() => healthz.stop(scope))
  await healthz.start()
  const ask = async (path: string) => {
    const response = await fetch(`http://127.0.0.1:${healthz.port}/${path}`)
    const body: unknown = await response.json()
    return { status: response.status, body: Object(body) }
  }
  const { status, body } = await ask('healthz')
  assert.deepEqual(
    [status, body],
    [
      200,
      {
        lastUpdated: '2026-01-01T00:10:00.000Z',
        currentTime: '2026-01-01T00:10:00.000Z',
        nodeEligible: true,
        healthy: true,
        status: {
          IPv4: { lastUpdated: '2026-01-01T00:00:00.000Z', healthy: true },
          IPv6: { lastUpdated: '2026-01-01T00:05:00.000Z', healthy: true },
        },
      },
    ],
  )
  isNodeEligible = false
  const leaving = await ask('healthz')
  assert.deepEqual([leaving.status, leaving.body.nodeEligible, leaving.body.healthy], [503, false, true])
  assert.equal((await ask('livez')).status, 200)
  families[1] = { family: 'IPv6', pendingSinceMs: nowMs - 61_000, lastSyncMs: nowMs - 300_000 }
  const stale = await ask('livez')
  assert.equal(stale.status, 503)
  assert.partialDeepStrictEqual(stale.body, {
    lastUpdated: '2026-01-01T00:05:00.000Z',
    status: { IPv4: { healthy: true }, IPv6: { healthy: false } },
  })
  assert.match((await metrics.text()).body, /kubeproxy_proxy_healthz_total\{code="503"\} 1/)
})

test('the mode and the metrics of the proxy are where kube-proxy has them; a port that is taken is tried again', async (t) => {
  const taken = createServer()
  await new Promise<void>((resolve) => taken.listen(0, '127.0.0.1', resolve))
  const { port } = taken.address() as AddressInfo
  const metrics = createMetrics()
  const listener = createProxyMetricsListener({
    address: ip('127.0.0.1'),
    port,
    mode: () => 'nftables',
    metrics,
    log: silentLogger,
  })
  t.after(() => listener.stop(scope))
  await listener.start()
  assert.match(listener.health().message, /in use/)
  await listener.stop(scope)
  await new Promise((resolve) => taken.close(resolve))
  await listener.start()
  const ask = async (path: string) => (await fetch(`http://127.0.0.1:${port}/${path}`)).text()
  assert.equal(await ask('proxyMode'), 'nftables')
  assert.equal(await ask('healthz'), 'ok')
  assert.match(await ask('metrics'), /^process_cpu_seconds_total /m)
})
