import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { createEndpointSliceController } from '../../../../src/controllers/endpoints/index.ts'
import { createNodeLifecycleController } from '../../../../src/controllers/nodes/lifecycle-controller.ts'
import { Periodic } from '../../../../src/loop/periodic.ts'
import { startTestServer, type TestServer } from '../../../helpers/api-server.ts'
import { runControllers } from '../../../helpers/controller-lab.ts'
import { untilAsync } from '../../../helpers/until.ts'

const core = '/api/v1/namespaces/default'
const leases = '/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases'
const merge = { 'content-type': 'application/merge-patch+json' }
const generousMs = 30_000

describe('a node whose agent falls silent', () => {
  let server: TestServer
  let running: AsyncDisposable
  /** Renews the leases of nodes that live, as their agents would. */
  let agents: Periodic
  const living = new Set(['n2'])

  const patch = async (path: string, body: object) =>
    assert.equal((await server.call('PATCH', path, { body, headers: merge })).code, 200)
  const tellReady = (node: string) =>
    patch(`/api/v1/nodes/${node}/status`, { status: { conditions: [{ type: 'Ready', status: 'True' }] } })
  const renew = (node: string) => patch(`${leases}/${node}`, { spec: { renewTime: new Date().toISOString() } })
  const makeNode = async (name: string) => {
    await server.call('POST', '/api/v1/nodes', { body: { metadata: { name } } })
    await server.call('POST', leases, { body: { metadata: { name }, spec: { renewTime: new Date().toISOString() } } })
    await tellReady(name)
  }
  const makePod = async (name: string, ip: string, tolerations: readonly object[] = [], nodeName = 'n1') => {
    const spec = { nodeName, tolerations, containers: [{ name: 'main', image: 'main' }] }
    const body = { metadata: { name, labels: { app: 'web' } }, spec }
    assert.equal((await server.call('POST', `${core}/pods`, { body })).code, 201)
    await patch(`${core}/pods/${name}/status`, {
      status: { phase: 'Running', podIP: ip, podIPs: [{ ip }], conditions: [{ type: 'Ready', status: 'True' }] },
    })
  }
  const nodeOf = async (name: string) => (await server.call('GET', `/api/v1/nodes/${name}`)).body
  const readyOf = async (path: string) =>
    (await server.call('GET', path)).body.status.conditions.find(({ type }: { type: string }) => type === 'Ready')
  const isLeaving = async (name: string) => {
    const { code, body } = await server.call('GET', `${core}/pods/${name}`)
    return code === 404 || body.metadata.deletionTimestamp !== undefined
  }
  const readyEndpoints = async (): Promise<string[]> => {
    const { body } = await server.call('GET', '/apis/discovery.k8s.io/v1/namespaces/default/endpointslices')
    return body.items
      .flatMap(({ endpoints }: { endpoints: { targetRef?: { name: string }; conditions: { ready: boolean } }[] }) =>
        endpoints.flatMap(({ targetRef, conditions }) => (conditions.ready && targetRef ? [targetRef.name] : [])),
      )
      .sort()
  }

  before(async () => {
    server = await startTestServer()
    await makeNode('n1')
    await makeNode('n2')
    agents = new Periodic(async () => void (await Promise.all([...living].map(renew))), {
      intervalMs: 100,
      onError: () => {},
    })
    agents.start()
    await server.call('POST', `${core}/services`, {
      body: { metadata: { name: 'web' }, spec: { selector: { app: 'web' }, ports: [{ port: 80 }] } },
    })
    const hasty = {
      key: 'node.kubernetes.io/unreachable',
      operator: 'Exists',
      effect: 'NoExecute',
      tolerationSeconds: 1,
    }
    await makePod('stays', '10.244.0.1')
    await makePod('goes', '10.244.0.2', [hasty])
    running = await runControllers(server, (context) => [
      createNodeLifecycleController(context, () => 2_000),
      createEndpointSliceController(context),
    ])
  })
  after(async () => {
    await agents.stop({ signal: AbortSignal.timeout(5_000) })
    await running[Symbol.asyncDispose]()
    await server.stop()
  })

  test('becomes Unknown and tainted, its pods leave their Services, and those that do not tolerate it long go', async () => {
    await untilAsync('both pods serve', async () => (await readyEndpoints()).join() === 'goes,stays', generousMs)
    await untilAsync(
      'the node is Unknown',
      async () => (await readyOf('/api/v1/nodes/n1')).status === 'Unknown',
      generousMs,
    )
    await untilAsync('it is tainted', async () => (await nodeOf('n1')).spec.taints?.length === 2, generousMs)
    await untilAsync('its pods have left', async () => (await readyEndpoints()).length === 0, generousMs)
    assert.equal((await readyOf(`${core}/pods/stays`)).reason, 'NodeNotReady')
    await untilAsync('the hasty pod goes', () => isLeaving('goes'), generousMs)
    assert.equal(await isLeaving('stays'), false)
  })

  test('is as before when its agent is back', async () => {
    living.add('n1')
    await renew('n1')
    await tellReady('n1')
    await untilAsync(
      'its taints are gone',
      async () => ((await nodeOf('n1')).spec.taints ?? []).length === 0,
      generousMs,
    )
  })

  test('takes its pods along when it is deleted', async () => {
    await makePod('orphan', '10.244.0.3', [], 'n9')
    await untilAsync(
      'it is gone',
      async () => (await server.call('GET', `${core}/pods/orphan`)).code === 404,
      generousMs,
    )
    assert.equal((await server.call('GET', `${core}/pods/stays`)).code, 200)
  })
})
