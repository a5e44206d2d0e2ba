import assert from 'node:assert/strict'
import { afterEach, beforeEach, describe, mock, test } from 'node:test'
import { parseLabelSelector } from '../../../../../src/model/selector.ts'
import type { Labels } from '../../../../../src/node/dns/feed/label-selection.ts'
import { ZoneFeed } from '../../../../../src/node/dns/feed/zone-feed.ts'
import { recordType } from '../../../../../src/node/dns/wire/codes.ts'
import { readMessage } from '../../../../../src/node/dns/wire/message.ts'
import { AnswerTable } from '../../../../../src/node/dns/zone/answer-table.ts'
import { AppliedRevisions, LiveNodeState } from '../../../../../src/node/state/index.ts'
import { readObject } from '../../../../../src/node/state/stored-object.ts'
import { silentLogger } from '../../../../../src/observe/index.ts'
import { makeQuery, parsedQuery } from '../../../../helpers/dns-messages.ts'
import { messageLine, zoneSettings } from '../../../../helpers/dns-zone.ts'
import { ip } from '../../../../helpers/services.ts'
import { until } from '../../../../helpers/until.ts'
import { dialect, wireService } from '../../../../helpers/wire-objects.ts'

const choosing = {
  pods: 'verified' as const,
  labels: parseLabelSelector('tier=front'),
  namespaceLabels: parseLabelSelector('team in (a,b)'),
}
const front: Labels = { tier: 'front' }
const missing = 'NXDOMAIN aa |  | cluster.local. 5 SOA ns.dns.cluster.local. minimum 5'

describe('a zone that selects by labels', () => {
  let feed: ZoneFeed
  let state: LiveNodeState
  const wanted: boolean[] = []

  beforeEach(async () => {
    state = new LiveNodeState(silentLogger)
    const applied = new AppliedRevisions(state)
    applied.register('dns')
    feed = new ZoneFeed({ state, applied, onTable: () => {}, onSynced: () => {}, log: silentLogger })
    wanted.length = 0
    feed.watchServiceLabelsWanted((now) => wanted.push(now))
    feed.start()
    const services = ['web', 'db'].map((name, index) => wireService(name, '1', { clusterIP: `10.96.0.1${index}` }))
    state.replace(
      'services',
      services.map((object) => readObject('services', object, dialect)),
      '10',
    )
    state.replace('endpointslices', [], '10')
    state.replace('endpoints', [], '10')
    await feed.changeZones([zoneSettings(choosing)])
    feed.replaceNamespaces(new Map([['default', { team: 'a' }]]))
  })
  afterEach(() => feed.stop({ signal: AbortSignal.timeout(1000) }))

  test('answers SERVFAIL until the labels are known, then answers the selected objects', async () => {
    await until('the rest is listed', () => feed.synced)
    assert.match(ask(feed, 'web.default.svc'), /^SERVFAIL/)
    feed.replaceServiceLabels(
      new Map([
        ['default/web', front],
        ['default/db', {}],
      ]),
    )
    await until('the chosen Service is there', () => ask(feed, 'web.default.svc').endsWith('A 10.96.0.10'))
    await until('and no other', () => ask(feed, 'db.default.svc') === missing)
  })

  test('follows the labels of Services, namespaces and Pods', async () => {
    feed.replaceServiceLabels(new Map([['default/web', front]]))
    await until('the chosen Service is there', () => ask(feed, 'web.default.svc').endsWith('A 10.96.0.10'))
    feed.setServiceLabels('default/web', { tier: 'back' })
    await until('a Service that is not chosen any more is gone', () => ask(feed, 'web.default.svc') === missing)
    feed.setServiceLabels('default/db', front)
    feed.setPod('default/p', { namespace: 'default', addresses: [ip('10.244.0.1')], labels: front })
    feed.setPod('default/q', { namespace: 'default', addresses: [ip('10.244.0.2')], labels: {} })
    await until('one that is chosen now is there', () => ask(feed, 'db.default.svc').endsWith('A 10.96.0.11'))
    await until('the chosen Pod is there', () => /A 10\.244\.0\.1$/.test(ask(feed, '10-244-0-1.default.pod')))
    assert.equal(ask(feed, '10-244-0-2.default.pod'), missing)
    feed.setNamespace('default', { team: 'c' })
    await until('nothing is left of the namespace', () => ask(feed, 'db.default.svc') === missing)
    await until('its own name is gone', () => ask(feed, 'default.svc') === missing)
    await until('its Pods are gone', () => ask(feed, '10-244-0-1.default.pod') === missing)
    feed.setNamespace('default', { team: 'b' })
    await until('and all is there again', () => ask(feed, 'db.default.svc').endsWith('A 10.96.0.11'))
    await until('the chosen Pod is there', () => /A 10\.244\.0\.1$/.test(ask(feed, '10-244-0-1.default.pod')))
  })

  test('goes through the Services once for all namespaces, and not where none is selected otherwise than before', () => {
    const looks = mock.method(state, 'serviceKeys')
    const names = ['default', ...Array.from({ length: 30 }, (_, index) => `n${index}`)]
    feed.replaceNamespaces(new Map(names.map((name) => [name, { team: 'a' }])))
    assert.equal(looks.mock.callCount(), 1)
    feed.replaceNamespaces(new Map(names.map((name) => [name, { team: 'b', seen: 'today' }])))
    feed.setNamespace('n7', { team: 'a' })
    assert.equal(looks.mock.callCount(), 1)
    feed.setNamespace('n7', { team: 'c' })
    assert.equal(looks.mock.callCount(), 2)
    looks.mock.restore()
  })

  test('watches the labels of Services only while a zone needs them', async () => {
    feed.replaceServiceLabels(new Map())
    await feed.changeZones([zoneSettings({ namespaceLabels: choosing.namespaceLabels })])
    assert.deepEqual(wanted, [false, true, false])
    await until('every Service is there', () => ask(feed, 'db.default.svc').endsWith('A 10.96.0.11'))
  })
})

function ask(feed: ZoneFeed, name: string): string {
  const [shared] = feed.tables
  assert.ok(shared)
  const out = Buffer.alloc(1232)
  const query = parsedQuery(makeQuery(`${name}.cluster.local`, recordType.A))
  return messageLine(readMessage(out, new AnswerTable(shared, { rotate: false, seed: 1 }).answer(query, out, 1232)))
}
