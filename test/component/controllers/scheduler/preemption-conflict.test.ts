import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type ApiClient, ApiError } from '../../../../src/client/index.ts'
import { createScheduler } from '../../../../src/controllers/scheduler/scheduler.ts'
import { startTestServer, type TestServer } from '../../../helpers/api-server.ts'
import { runControllers } from '../../../helpers/controller-lab.ts'
import { accessOfServer } from '../../../helpers/controllers.ts'
import { DisturbedClient } from '../../../helpers/disturbed-client.ts'
import { untilAsync } from '../../../helpers/until.ts'

const pods = '/api/v1/namespaces/default/pods'

/** A client whose every mark of a preempted pod is refused, because the pod has changed. */
class RefusedMarks extends DisturbedClient {
  refused = 0

  protected disturb<T>(write: () => Promise<T>): Promise<T> {
    return write()
  }

  override async patch(...args: Parameters<ApiClient['patch']>) {
    if (!JSON.stringify(args[1].patch).includes('DisruptionTarget')) return super.patch(...args)
    this.refused += 1
    throw new ApiError('conflict', 'the pod has changed')
  }
}

async function create(server: TestServer, path: string, body: object): Promise<void> {
  assert.equal((await server.call('POST', path, { body })).code, 201)
}

test('A victim of preemption that changes before it is marked is deleted all the same.', async () => {
  const server = await startTestServer()
  const client = new RefusedMarks(accessOfServer(server))
  const running = await runControllers(server, (kit) => [createScheduler(kit)], { client })
  try {
    const containers = [{ name: 'main', image: 'main', resources: { requests: { cpu: '1' } } }]
    const pod = (name: string, spec: object) => ({
      metadata: { name },
      spec: { terminationGracePeriodSeconds: 0, containers, ...spec },
    })
    const status = { allocatable: { cpu: '1', pods: '10' } }
    await create(server, '/api/v1/nodes', { metadata: { name: 'small' }, status })
    await create(server, '/apis/scheduling.k8s.io/v1/priorityclasses', { metadata: { name: 'high' }, value: 100 })
    await create(server, pods, pod('victim', { nodeName: 'small' }))
    await create(server, pods, pod('important', { priorityClassName: 'high' }))
    const nodeOf = async (name: string) => (await server.call('GET', `${pods}/${name}`)).body.spec?.nodeName
    await untilAsync('the pod has the place', async () => (await nodeOf('important')) === 'small', 20_000)
    assert.equal(client.refused, 1)
  } finally {
    await running[Symbol.asyncDispose]()
    await server.stop()
    client.close()
  }
})
