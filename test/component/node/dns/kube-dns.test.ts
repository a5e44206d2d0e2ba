import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { ApiClient } from '../../../../src/client/index.ts'
import { notReadyWrites, planEviction } from '../../../../src/controllers/nodes/plan-pods.ts'
import type { Pod } from '../../../../src/controllers/objects/pod.ts'
import { createDialect } from '../../../../src/model/dialect.ts'
import { KubeDnsObjects } from '../../../../src/node/dns/kube-dns/kube-dns-objects.ts'
import { ipOf } from '../../../helpers/addresses.ts'
import { startTestServer, type TestServer } from '../../../helpers/api-server.ts'
import { accessOfServer } from '../../../helpers/controllers.ts'
import { createRecordingLogger } from '../../../helpers/recording-logger.ts'
import { clientOf, startServer } from '../../../helpers/scripted-server.ts'
import { untilAsync } from '../../../helpers/until.ts'

const dialect = createDialect('kubernetes')
const core = '/api/v1/namespaces/kube-system'
const pod = `${core}/pods/platnet-dns-n1`
const patientMs = 30_000

describe("a node's part of the Service kube-dns", () => {
  let server: TestServer
  const { log, lines } = createRecordingLogger()
  let serves = true
  let client: ApiClient

  before(async () => {
    server = await startTestServer()
    await server.call('POST', '/api/v1/nodes', { body: { metadata: { name: 'n1' } } })
    const { certPem, keyPem } = await server.authority.issue('system:node:n1', 'system:nodes')
    const { bearer: _, ...access } = accessOfServer(server)
    client = new ApiClient({ ...access, clientCertificate: certPem, clientKey: keyPem })
  })
  after(() => server.stop())

  const objects = () =>
    new KubeDnsObjects({
      client,
      dialect,
      clusterDns: [ipOf('10.96.0.10')],
      facts: { nodeName: 'n1', address: ipOf('192.0.2.1') },
      serves: () => serves,
      intervalMs: 1_500,
      log,
    })
  const call = async (method: string, path: string, body?: object) =>
    (await server.call(method, path, body && { body, headers: { 'content-type': 'application/merge-patch+json' } }))
      .body
  const ready = async () =>
    (await call('GET', pod)).status?.conditions?.find(({ type }: { type: string }) => type === 'Ready')?.status ??
    'none'
  /** What `kubectl get pods` shows. */
  const columns = async (): Promise<unknown[]> => {
    const accept = 'application/json;as=Table;v=v1;g=meta.k8s.io'
    const { body } = await server.call('GET', pod, { headers: { accept } })
    return body.rows[0].cells.slice(0, 4)
  }
  const untilReady = (wanted: string) =>
    untilAsync(`the Pod's readiness is ${wanted}`, async () => (await ready()) === wanted, patientMs)
  /** From start to stop, as an agent has it. */
  const during = async (body: () => Promise<void>) => {
    const agent = objects()
    await agent.start()
    try {
      await body()
    } finally {
      await agent.stop({ signal: AbortSignal.timeout(patientMs) })
    }
  }

  test('the Service is made, and the Pod that makes the node its endpoint is ready while it serves', async () => {
    await during(async () => {
      await untilReady('True')
      assert.deepEqual(await columns(), ['platnet-dns-n1', '1/1', 'Running', '0'])
    })
    assert.equal(await ready(), 'False', 'after a clean stop')
    assert.deepEqual(await columns(), ['platnet-dns-n1', '0/1', 'Running', '0'])
    const { metadata, spec } = await call('GET', `${core}/services/kube-dns`)
    assert.equal(metadata.labels['kubernetes.io/cluster-service'], 'true', 'kubectl cluster-info shows it')
    assert.deepEqual(metadata.annotations, { 'prometheus.io/scrape': 'true', 'prometheus.io/port': '9153' })
    assert.equal(spec.clusterIP, '10.96.0.10')
    assert.deepEqual(
      spec.ports.map(
        ({ name, port, protocol }: { name: string; port: number; protocol: string }) => `${name} ${port} ${protocol}`,
      ),
      ['dns 53 UDP', 'dns-tcp 53 TCP', 'metrics 9153 TCP'],
    )
  })

  test('an agent that restarts does not leave the Service while its DNS is not up yet', async () => {
    await call('PATCH', `${pod}/status`, { status: { conditions: [{ type: 'Ready', status: 'True' }] } })
    const { resourceVersion } = (await call('GET', pod)).metadata
    serves = false
    await during(async () => {
      await sleep(600)
      assert.equal((await call('GET', pod)).metadata.resourceVersion, resourceVersion)
      serves = true
      await untilAsync('the Pod is complete again', async () => (await columns())[1] === '1/1', patientMs)
    })
  })

  test('the Pod of a version that wrote no container status is completed', async () => {
    await during(async () => {
      await untilReady('True')
      await call('PATCH', `${pod}/status`, { status: { containerStatuses: null } })
      await untilAsync('it is completed', async () => (await columns())[1] === '1/1', patientMs)
    })
  })

  test('the Pod of a lost node is not ready, is not evicted, and is ready again when the agent is back', async () => {
    await during(() => untilReady('True'))
    await call('PATCH', `${pod}/status`, { status: { conditions: [{ type: 'Ready', status: 'True' }] } })
    const found: Pod = await call('GET', pod)
    const nowMs = Date.now()
    const taint = {
      key: dialect.taints.unreachable,
      value: '',
      effect: 'NoExecute',
      timeAdded: '2020-01-01T00:00:00Z',
    } as const
    const plan = planEviction({ taints: [taint], pods: [found], heedsTrouble: true, names: dialect.taints, nowMs })
    assert.deepEqual(plan.evicted, [])
    const [write, ...others] = notReadyWrites([found], nowMs)
    assert.deepEqual(others, [])
    assert.equal(write?.verb, 'patch')
    await call('PATCH', `${pod}/status`, (write as { patch: object }).patch)
    assert.equal(await ready(), 'False')
    await during(() => untilReady('True'))
  })

  test('a Pod that a crash left ready becomes not ready while its agent does not serve', async () => {
    await call('PATCH', `${pod}/status`, { status: { conditions: [{ type: 'Ready', status: 'True' }] } })
    serves = false
    await during(() => untilReady('False'))
    serves = true
  })

  test('a deleted object is created again; a Service of others stays, and the log says how it differs', async () => {
    await call('DELETE', pod)
    await untilAsync('the Pod is gone', async () => (await call('GET', pod)).code === 404, patientMs)
    await call('PATCH', `${core}/services/kube-dns`, { spec: { selector: { app: 'theirs' } } })
    await during(() => untilReady('True'))
    const { spec } = await call('GET', `${core}/services/kube-dns`)
    assert.deepEqual(spec.selector.app, 'theirs')
    await call('PATCH', `${core}/services/kube-dns`, { spec: { selector: null } })
    await during(() =>
      untilAsync(
        'it is said',
        async () => lines.some((line) => line.includes('does not match what this node serves; it is left unchanged')),
        patientMs,
      ),
    )
  })
})

test('where a node may neither read nor create them, that is logged once, nothing is created, and the attempts become rarer', async () => {
  await using server = await startServer((_request, response) => {
    response.writeHead(403, { 'content-type': 'application/json' })
    response.end(JSON.stringify({ kind: 'Status', status: 'Failure', reason: 'Forbidden', code: 403 }))
  })
  const { log, lines } = createRecordingLogger()
  const agent = new KubeDnsObjects({
    client: clientOf(server),
    dialect,
    clusterDns: [ipOf('10.96.0.10')],
    facts: { nodeName: 'n1', address: ipOf('192.0.2.1') },
    serves: () => true,
    log,
    intervalMs: 10,
  })
  await agent.start()
  await sleep(600)
  const asked = server.requests.length
  await agent.stop({ signal: AbortSignal.timeout(patientMs) })
  // Three questions a look: the Service, the Pod, its Node; the looks are 10, 20, 40 … ms apart.
  assert.ok(asked >= 6 && asked <= 24, `${asked} questions in 60 looks`)
  assert.equal(lines.filter((line) => line.includes('this node may not create')).length, 2)
  assert.equal(lines.filter((line) => line.includes('was made')).length, 0)
})

test('objects that are as they should be are asked for at every third look', async () => {
  const ports = [
    { port: 53, protocol: 'UDP' },
    { port: 53, protocol: 'TCP' },
    { port: 9153, protocol: 'TCP' },
  ]
  const service = { spec: { clusterIP: '10.96.0.10', ports, selector: { 'k8s-app': 'kube-dns' } } }
  const conditions = [{ type: 'Ready', status: 'True' }]
  const status = { podIP: '192.0.2.1', conditions, containerStatuses: [{ ready: true }] }
  await using server = await startServer((request, response) => {
    response.writeHead(200, { 'content-type': 'application/json' })
    const kind = request.url?.includes('/services/') ? 'Service' : 'Pod'
    const metadata = { name: 'x', namespace: 'kube-system', uid: 'u', resourceVersion: '1' }
    const rest = kind === 'Service' ? service : { status }
    response.end(JSON.stringify({ apiVersion: 'v1', kind, metadata, ...rest }))
  })
  let looks = 0
  const agent = new KubeDnsObjects({
    client: clientOf(server),
    dialect,
    clusterDns: [ipOf('10.96.0.10')],
    facts: { nodeName: 'n1', address: ipOf('192.0.2.1') },
    serves: () => {
      looks += 1
      return true
    },
    log: createRecordingLogger().log,
    intervalMs: 5,
  })
  await agent.start()
  await untilAsync('it has looked often', async () => looks > 60, patientMs)
  const asked = server.requests.length
  await agent.stop({ signal: AbortSignal.timeout(patientMs) })
  assert.ok(asked > 4 && asked < 0.7 * looks, `${asked} questions, ${looks} times asked whether it serves`)
})
