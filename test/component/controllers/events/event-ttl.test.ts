import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createEventTtlController } from '../../../../src/controllers/events/event-ttl-controller.ts'
import { startTestServer } from '../../../helpers/api-server.ts'
import { runControllers } from '../../../helpers/controller-lab.ts'
import { untilAsync } from '../../../helpers/until.ts'

const events = '/api/v1/namespaces/default/events'

test('Events are deleted when they have not recurred for their time, and stay while they recur', async () => {
  await using server = await startTestServer()
  const tell = async (name: string, times: object) => {
    const involvedObject = { kind: 'Pod', namespace: 'default', name: 'a' }
    const { code } = await server.call('POST', events, { body: { metadata: { name }, involvedObject, ...times } })
    assert.equal(code, 201)
  }
  const hoursAgo = (hours: number) => `${new Date(Date.now() - hours * 3_600_000).toISOString().slice(0, 19)}Z`
  const names = async (): Promise<string[]> =>
    (await server.call('GET', events)).body.items.map(({ metadata }: { metadata: { name: string } }) => metadata.name)
  await tell('fresh', {})
  await tell('repeated', { firstTimestamp: hoursAgo(9), lastTimestamp: hoursAgo(0) })
  {
    await using _running = await runControllers(server, (kit) => [createEventTtlController(kit, () => 3_600_000)])
    await tell('third', {})
    await untilAsync('all are seen', async () => (await names()).length === 3)
  }
  assert.deepEqual((await names()).sort(), ['fresh', 'repeated', 'third'])
  await using _hasty = await runControllers(server, (kit) => [createEventTtlController(kit, () => 1_500)])
  await untilAsync('all are gone', async () => (await names()).length === 0, 30_000)
})
