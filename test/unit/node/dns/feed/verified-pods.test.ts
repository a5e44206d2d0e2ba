import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { ZoneFeed } from '../../../../../src/node/dns/feed/zone-feed.ts'
import { readPod } from '../../../../../src/node/dns/sources/on-demand-sources.ts'
import { recordType } from '../../../../../src/node/dns/wire/codes.ts'
import { readMessage } from '../../../../../src/node/dns/wire/message.ts'
import { AnswerTable } from '../../../../../src/node/dns/zone/answer-table.ts'
import { AppliedRevisions, LiveNodeState } from '../../../../../src/node/state/index.ts'
import { silentLogger } from '../../../../../src/observe/index.ts'
import { makeQuery, parsedQuery } from '../../../../helpers/dns-messages.ts'
import { messageLine, zoneSettings } from '../../../../helpers/dns-zone.ts'
import { ip } from '../../../../helpers/services.ts'

function pod(status: object, metadata: object = {}) {
  return { metadata: { name: 'a', namespace: 'data', uid: 'u', resourceVersion: '1', ...metadata }, status } as never
}

describe('Pods for pods verified', () => {
  test('count with all their addresses while they run', () => {
    const podIPs = [{ ip: '10.244.0.1' }, { ip: 'fd00::1' }]
    assert.deepEqual(readPod(pod({ phase: 'Running', podIP: '10.244.0.1', podIPs })), {
      namespace: 'data',
      addresses: ['10.244.0.1', 'fd00::1'],
      labels: {},
    })
    assert.deepEqual(readPod(pod({ phase: 'Pending', podIP: '10.244.0.1' }))?.addresses, ['10.244.0.1'])
  })

  for (const [what, status, metadata] of [
    ['one that succeeded', { phase: 'Succeeded', podIP: '10.244.0.1' }, {}],
    ['one that failed', { phase: 'Failed', podIP: '10.244.0.1' }, {}],
    ['one that is going', { phase: 'Running', podIP: '10.244.0.1' }, { deletionTimestamp: '2026-01-01T00:00:00Z' }],
    ['one without an address', { phase: 'Running' }, {}],
    ['one with nonsense for an address', { phase: 'Running', podIP: 'x' }, {}],
  ] as const) {
    test(`${what} does not count`, () => assert.equal(readPod(pod(status, metadata)), undefined))
  }

  test('are watched only while a zone verifies them, and a later zone knows them', async () => {
    const state = new LiveNodeState(silentLogger)
    const applied = new AppliedRevisions(state)
    applied.register('dns')
    const feed = new ZoneFeed({ state, applied, onTable: () => {}, onSynced: () => {}, log: silentLogger })
    const wanted: boolean[] = []
    feed.watchPodsWanted((now) => wanted.push(now))
    await feed.changeZones([zoneSettings({ pods: 'insecure' })])
    await feed.changeZones([zoneSettings({ pods: 'verified' })])
    feed.replacePods(new Map([['data/a', { namespace: 'data', addresses: [ip('10.244.0.1')] }]]))
    assert.match(ask(feed), /30 A 10\.244\.0\.1$/)
    await feed.changeZones([zoneSettings({ pods: 'verified', ttl: 7 })])
    assert.match(ask(feed), /7 A 10\.244\.0\.1$/)
    feed.replacePods(new Map())
    assert.doesNotMatch(ask(feed), / A /)
    await feed.changeZones([])
    assert.deepEqual(wanted, [false, false, true, true, false])
  })
})

function ask(feed: ZoneFeed): string {
  const [shared] = feed.tables
  assert.ok(shared)
  const out = Buffer.alloc(1232)
  const query = parsedQuery(makeQuery('10-244-0-1.data.pod.cluster.local', recordType.A))
  return messageLine(readMessage(out, new AnswerTable(shared, { rotate: false, seed: 1 }).answer(query, out, 1232)))
}
