import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ApiEventRecorder } from '../../../src/client/index.ts'
import { silentLogger } from '../../../src/observe/index.ts'
import { startTestServer } from '../../helpers/api-server.ts'
import { clientOfServer } from '../../helpers/controllers.ts'
import { untilAsync } from '../../helpers/until.ts'

test('a repeated Event raises the count of the first one', async () => {
  await using server = await startTestServer()
  const recorder = new ApiEventRecorder(clientOfServer(server), 'test-controller', silentLogger)
  const subject = { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'web', namespace: 'default', uid: 'u1' } }
  for (let round = 0; round < 3; round++) recorder.record(subject, 'Warning', 'FailedScheduling', 'no node fits')
  recorder.record(subject, 'Normal', 'Scheduled', 'placed on node-1')
  const read = async () => (await server.call('GET', '/api/v1/namespaces/default/events')).body.items
  await untilAsync('all are recorded', async () => (await read()).some((event: { count: number }) => event.count === 3))
  const events = await read()
  assert.deepEqual(
    // biome-ignore lint/suspicious/noExplicitAny: events as they came
    events.map((event: any) => [event.type, event.reason, event.count, event.involvedObject.name]).sort(),
    [
      ['Normal', 'Scheduled', 1, 'web'],
      ['Warning', 'FailedScheduling', 3, 'web'],
    ],
  )
})

test('at most 25 Events of one object are recorded at once; those of others still are', async () => {
  await using server = await startTestServer()
  const recorder = new ApiEventRecorder(clientOfServer(server), 'test-controller', silentLogger)
  const subject = (uid: string) => ({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: uid, namespace: 'default', uid },
  })
  for (let round = 0; round < 40; round++) recorder.record(subject('busy'), 'Normal', 'Created', `pod ${round}`)
  recorder.record(subject('quiet'), 'Normal', 'Created', 'one')
  const read = async () => (await server.call('GET', '/api/v1/namespaces/default/events')).body.items
  await untilAsync('all are recorded', async () => (await read()).length === 26, 30_000)
  // biome-ignore lint/suspicious/noExplicitAny: events as they came
  assert.equal((await read()).filter((event: any) => event.involvedObject.name === 'quiet').length, 1)
})
