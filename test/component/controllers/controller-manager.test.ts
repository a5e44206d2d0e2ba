import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { createControllerManager, createControllerMetrics } from '../../../src/controllers/index.ts'
import { createDialect, type DialectName } from '../../../src/model/dialect.ts'
import { createMetrics, silentLogger } from '../../../src/observe/index.ts'
import { startTestServer, type TestServer } from '../../helpers/api-server.ts'
import { autoscalingDefaults, noSigning } from '../../helpers/controller-settings.ts'
import { clientOfServer } from '../../helpers/controllers.ts'
import { untilAsync } from '../../helpers/until.ts'

const forever = { signal: new AbortController().signal }
const all = ['endpoints', 'endpointslice', 'endpointslice-mirroring']

async function startManager(server: TestServer, dialect: DialectName = 'kubernetes') {
  const metrics = createMetrics()
  const manager = createControllerManager({
    client: clientOfServer(server),
    dialect: createDialect(dialect),
    controllers: all,
    clusterCidrs: [],
    nodeGraceMs: () => 40_000,
    rootCaPem: 'the CA',
    eventTtlMs: () => 3_600_000,
    autoscaling: autoscalingDefaults,
    signing: noSigning,
    metrics: createControllerMetrics(metrics),
    log: silentLogger,
  })
  await manager.start(forever)
  return { manager, metrics }
}

const core = '/api/v1/namespaces/default'

async function createPod(server: TestServer, name: string, ip: string): Promise<void> {
  const metadata = { name, labels: { app: 'web' } }
  const created = await server.call('POST', `${core}/pods`, {
    body: { metadata, spec: { containers: [{ name: 'main' }] } },
  })
  assert.equal(created.code, 201, created.text)
  const status = { phase: 'Running', podIP: ip, podIPs: [{ ip }], conditions: [{ type: 'Ready', status: 'True' }] }
  const patched = await server.call('PATCH', `${core}/pods/${name}/status`, {
    body: { status },
    headers: { 'content-type': 'application/merge-patch+json' },
  })
  assert.equal(patched.code, 200, patched.text)
}

const webService = { metadata: { name: 'web' }, spec: { selector: { app: 'web' }, ports: [{ port: 80 }] } }

for (const dialect of ['kubernetes', 'platform'] as const) {
  const { groups, labels } = createDialect(dialect)
  const slicesPath = `/apis/${groups.discovery}/v1/namespaces/default/endpointslices`

  /** Addresses in the slices of a Service, sorted. */
  const sliced = async (server: TestServer, service: string): Promise<readonly string[]> => {
    const selector = encodeURIComponent(`${labels.serviceName}=${service}`)
    const { body } = await server.call('GET', `${slicesPath}?labelSelector=${selector}`)
    return body.items
      .flatMap((slice: { endpoints: { addresses: string[] }[] }) =>
        slice.endpoints.flatMap(({ addresses }) => addresses),
      )
      .sort()
  }

  describe(`the controller manager on an API server in the ${dialect} dialect`, () => {
    test('pods and a Service become slices and Endpoints, and go with them', async () => {
      await using server = await startTestServer({ dialect })
      const { manager, metrics } = await startManager(server, dialect)
      await server.call('POST', `${core}/services`, { body: webService })
      await createPod(server, 'a', '10.244.0.1')
      await createPod(server, 'b', '10.244.0.2')
      await untilAsync('both are in a slice', async () => (await sliced(server, 'web')).length === 2)
      await untilAsync('both are in the Endpoints', async () => {
        const { body } = await server.call('GET', `${core}/endpoints/web`)
        return body.subsets?.[0]?.addresses?.length === 2
      })
      await server.call('DELETE', `${core}/pods/a?gracePeriodSeconds=0`)
      await untilAsync('one is left', async () => (await sliced(server, 'web')).join() === '10.244.0.2')
      await server.call('DELETE', `${core}/services/web`)
      await untilAsync('the slices are gone', async () =>
        (await server.call('GET', slicesPath)).body.items.every(
          (slice: { metadata: { labels: Record<string, string> } }) =>
            slice.metadata.labels[labels.serviceName] !== 'web',
        ),
      )
      await untilAsync(
        'the Endpoints are gone',
        async () => (await server.call('GET', `${core}/endpoints/web`)).code === 404,
      )
      assert.match(
        (await metrics.text()).body,
        /controller_reconcile_total\{controller="endpointslice",result="success"\}/,
      )
      await manager.stop(forever)
    })

    test('hand-written Endpoints are mirrored until they are not wanted to be', async () => {
      await using server = await startTestServer({ dialect })
      const { manager } = await startManager(server, dialect)
      await server.call('POST', `${core}/services`, {
        body: { metadata: { name: 'db' }, spec: { ports: [{ port: 5432 }] } },
      })
      const subsets = [{ addresses: [{ ip: '192.0.2.1' }], ports: [{ port: 5432 }] }]
      await server.call('POST', `${core}/endpoints`, { body: { metadata: { name: 'db' }, subsets } })
      await untilAsync('they are mirrored', async () => (await sliced(server, 'db')).join() === '192.0.2.1')
      await server.call('PUT', `${core}/endpoints/db`, {
        body: { metadata: { name: 'db', labels: { [labels.skipMirror]: 'true' } }, subsets },
      })
      await untilAsync('the mirror is gone', async () => (await sliced(server, 'db')).length === 0)
      await manager.stop(forever)
    })

    test('hand-written Endpoints may come before their Service, and go with it', async () => {
      await using server = await startTestServer({ dialect })
      const { manager } = await startManager(server, dialect)
      const subsets = [{ addresses: [{ ip: '192.0.2.7' }], ports: [{ port: 5432 }] }]
      await server.call('POST', `${core}/endpoints`, { body: { metadata: { name: 'early' }, subsets } })
      // By what happens to a later one it is seen that the first has been looked at.
      await server.call('POST', `${core}/services`, { body: webService })
      await untilAsync('others are kept', async () => (await server.call('GET', `${core}/endpoints/web`)).code === 200)
      const service = { metadata: { name: 'early' }, spec: { ports: [{ port: 5432 }] } }
      await server.call('POST', `${core}/services`, { body: service })
      await untilAsync('they are mirrored', async () => (await sliced(server, 'early')).join() === '192.0.2.7')
      await server.call('DELETE', `${core}/services/early`)
      await untilAsync('they are gone', async () => (await server.call('GET', `${core}/endpoints/early`)).code === 404)
      await manager.stop(forever)
    })
  })
}

test('the next manager corrects what changed while none ran', async () => {
  await using server = await startTestServer()
  const first = await startManager(server)
  await server.call('POST', `${core}/services`, { body: webService })
  await createPod(server, 'a', '10.244.0.1')
  await untilAsync(
    'a slice has it',
    async () => (await readSlices(server)).flatMap((slice) => slice.endpoints).length === 1,
  )
  await first.manager.stop(forever)
  await createPod(server, 'b', '10.244.0.2')
  await server.call('DELETE', `${core}/pods/a?gracePeriodSeconds=0`)
  const second = await startManager(server)
  await untilAsync('the slice is as it should be', async () => {
    const addresses = (await readSlices(server)).flatMap((slice) =>
      slice.endpoints.flatMap((endpoint) => endpoint.addresses),
    )
    return addresses.join() === '10.244.0.2'
  })
  await second.manager.stop(forever)
})

async function readSlices(server: TestServer): Promise<{ endpoints: { addresses: string[] }[] }[]> {
  const path = '/apis/discovery.k8s.io/v1/namespaces/default/endpointslices'
  const { body } = await server.call(
    'GET',
    `${path}?labelSelector=${encodeURIComponent('kubernetes.io/service-name=web')}`,
  )
  return body.items
}
