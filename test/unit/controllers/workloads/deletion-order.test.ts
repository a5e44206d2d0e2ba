import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Pod, podSchema } from '../../../../src/controllers/objects/pod.ts'
import { inDeletionOrder } from '../../../../src/controllers/workloads/deletion-order.ts'

function pod(name: string, spec: object, status: object, metadata: object = {}): Pod {
  return podSchema.parse({ metadata: { name, creationTimestamp: '2026-01-01T00:00:00Z', ...metadata }, spec, status })
}

const ready = (since: string) => [{ type: 'Ready', status: 'True', lastTransitionTime: since }]

test('the smaller loss goes first: not placed, pending, not ready, cheap, crowded, fresh, restarted, young', () => {
  const running = (since = '2026-01-01T01:00:00Z', rest: object = {}) => ({
    phase: 'Running',
    conditions: ready(since),
    ...rest,
  })
  const pods = [
    pod('plain', { nodeName: 'a' }, running()),
    pod('young', { nodeName: 'b' }, running(), { creationTimestamp: '2026-01-01T00:30:00Z' }),
    pod('restarted', { nodeName: 'c' }, running(undefined, { containerStatuses: [{ restartCount: 3 }] })),
    pod('fresh', { nodeName: 'd' }, running('2026-01-01T02:00:00Z')),
    pod('crowded-1', { nodeName: 'e' }, running()),
    pod('crowded-2', { nodeName: 'e' }, running('2026-01-01T02:00:00Z')),
    pod('cheap', { nodeName: 'f' }, running(), { annotations: { cost: '-5' } }),
    pod('not-ready', { nodeName: 'g' }, { phase: 'Running' }),
    pod('pending', { nodeName: 'h' }, { phase: 'Pending' }),
    pod('not-placed', {}, { phase: 'Pending' }),
  ]
  const names = inDeletionOrder(pods, 'cost').map(({ metadata }) => metadata.name)
  const expected = [
    'not-placed',
    'pending',
    'not-ready',
    'cheap',
    'crowded-2',
    'crowded-1',
    'fresh',
    'restarted',
    'young',
    'plain',
  ]
  assert.deepEqual(names, expected)
})
