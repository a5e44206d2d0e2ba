import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { createScheduler } from '../../../../src/controllers/scheduler/scheduler.ts'
import { startTestServer, type TestServer } from '../../../helpers/api-server.ts'
import { runControllers } from '../../../helpers/controller-lab.ts'
import { untilAsync } from '../../../helpers/until.ts'

const pods = '/api/v1/namespaces/default/pods'

describe('the scheduler', () => {
  let server: TestServer
  let running: AsyncDisposable

  before(async () => {
    server = await startTestServer()
    running = await runControllers(server, (kit) => [createScheduler(kit)])
  })
  after(async () => {
    await running[Symbol.asyncDispose]()
    await server.stop()
  })

  async function makePod(name: string, spec: object = {}): Promise<void> {
    const body = {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name },
      spec: { containers: [{ name, image: name }], ...spec },
    }
    assert.equal((await server.call('POST', pods, { body })).code, 201)
  }
  const read = async (name: string) => (await server.call('GET', `${pods}/${name}`)).body
  const events = async (reason: string): Promise<{ message: string }[]> => {
    const { body } = await server.call('GET', '/api/v1/namespaces/default/events')
    return body.items.filter((event: { reason: string }) => event.reason === reason)
  }

  test('says why a pod has no node, and places it when one appears', async () => {
    await makePod('early')
    const unscheduled = async () => (await read('early')).status.conditions?.[0]
    await untilAsync('the condition is there', async () => (await unscheduled())?.reason === 'Unschedulable')
    assert.equal((await unscheduled()).message, 'no nodes available to schedule pods')
    await untilAsync('the event is there', async () => (await events('FailedScheduling')).length === 1)
    await server.call('POST', '/api/v1/nodes', { body: { apiVersion: 'v1', kind: 'Node', metadata: { name: 'n1' } } })
    await untilAsync('it is bound', async () => (await read('early')).spec.nodeName === 'n1')
    assert.deepEqual(
      (await read('early')).status.conditions.map(({ status }: { status: string }) => status),
      ['True'],
    )
    await untilAsync('the Event is recorded', async () => (await events('Scheduled')).length === 1)
    assert.equal((await events('Scheduled'))[0]?.message, 'Successfully assigned default/early to n1')
  })

  test('leaves alone what another scheduler places', async () => {
    await makePod('foreign', { schedulerName: 'other' })
    await makePod('ours')
    await untilAsync('ours is bound', async () => (await read('ours')).spec.nodeName === 'n1')
    assert.equal((await read('foreign')).spec.nodeName, undefined)
  })

  test('a bound pod cannot be bound again', async () => {
    const binding = {
      apiVersion: 'v1',
      kind: 'Binding',
      metadata: { name: 'ours' },
      target: { kind: 'Node', name: 'n2' },
    }
    const { code, body } = await server.call('POST', `${pods}/ours/binding`, { body: binding })
    assert.equal(code, 409)
    assert.match(body.message, /already assigned to node "n1"/)
  })

  test('an important pod has less important ones go, as few as will do, and takes their place', async () => {
    const body = { metadata: { name: 'small' }, status: { allocatable: { cpu: '1', pods: '10' } } }
    await server.call('POST', '/api/v1/nodes', { body })
    for (const value of [5, 10, 100]) {
      const priorityClass = { metadata: { name: `worth-${value}` }, value }
      const { code } = await server.call('POST', '/apis/scheduling.k8s.io/v1/priorityclasses', { body: priorityClass })
      assert.equal(code, 201)
    }
    const onSmall = (cpu: string, priority: number) => ({
      nodeSelector: {},
      priorityClassName: `worth-${priority}`,
      terminationGracePeriodSeconds: 0,
      affinity: {
        nodeAffinity: {
          requiredDuringSchedulingIgnoredDuringExecution: {
            nodeSelectorTerms: [{ matchFields: [{ key: 'metadata.name', operator: 'In', values: ['small'] }] }],
          },
        },
      },
      containers: [{ name: 'main', image: 'main', resources: { requests: { cpu } } }],
    })
    await makePod('worth-10', onSmall('500m', 10))
    await makePod('worth-5', onSmall('500m', 5))
    for (const name of ['worth-10', 'worth-5']) {
      await untilAsync(`${name} runs`, async () => (await read(name)).spec.nodeName === 'small', 30_000)
    }
    await makePod('worth-5-too', onSmall('500m', 5))
    await untilAsync(
      'it finds no room',
      async () => (await read('worth-5-too')).status.conditions?.[0]?.reason === 'Unschedulable',
      30_000,
    )
    const victims: string[] = []
    const watch = server.store.watch('/registry/pods/default/worth-5', server.store.revision, (changes) => {
      for (const change of changes) if (change.kind === 'put') victims.push(change.entry.value)
    })
    await makePod('worth-100', onSmall('500m', 100))
    await untilAsync('it has its place', async () => (await read('worth-100')).spec.nodeName === 'small', 30_000)
    assert.equal((await server.call('GET', `${pods}/worth-5`)).code, 404)
    watch.close()
    const marked = victims.map((each) => JSON.parse(each)).filter(({ metadata }) => metadata.name === 'worth-5')
    const mark = marked.at(-1).status.conditions.find(({ type }: { type: string }) => type === 'DisruptionTarget')
    assert.deepEqual([mark.status, mark.reason], ['True', 'PreemptionByScheduler'])
    assert.equal((await read('worth-10')).metadata.deletionTimestamp, undefined)
    assert.equal((await read('worth-5-too')).spec.nodeName, undefined)
    await untilAsync('the event is there', async () => (await events('Preempted')).length > 0, 30_000)
    assert.equal((await events('Preempted'))[0]?.message, 'Preempted by default/worth-100 on node small')
  })
})
