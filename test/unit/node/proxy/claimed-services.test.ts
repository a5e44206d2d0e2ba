import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { ClaimedServices } from '../../../../src/node/proxy/claimed-services.ts'
import { planFrontends } from '../../../../src/node/proxy/plan.ts'
import type { RefusedClaim } from '../../../../src/node/proxy/service-claims.ts'
import { ClusterAddresses, LiveNodeState, type WatchedResource } from '../../../../src/node/state/index.ts'
import { readObject } from '../../../../src/node/state/stored-object.ts'
import { silentLogger } from '../../../../src/observe/logger.ts'
import { ipOf } from '../../../helpers/addresses.ts'
import { until } from '../../../helpers/until.ts'
import { dialect, type WireFixture, wireService, wireSlice } from '../../../helpers/wire-objects.ts'

function fixture(patienceMs = 60_000) {
  const state = new LiveNodeState(silentLogger)
  const addresses = new ClusterAddresses(patienceMs)
  const reports: [string, readonly RefusedClaim[]][] = []
  const claimed = new ClaimedServices({
    state,
    addresses,
    apiServers: new Set(['203.0.113.9 TCP 6443']),
    onRefused: (service, refused) => reports.push([service, refused]),
    log: silentLogger,
  })
  const reported: string[][] = []
  claimed.subscribe(({ services }) => reported.push([...services].sort()))
  const put = (resource: WatchedResource, object: WireFixture) =>
    state.upsert(resource, readObject(resource, object, dialect))
  const list = (...services: readonly WireFixture[]) => {
    state.replace('endpoints', [], '1')
    state.replace('endpointslices', [], '1')
    const parsed = services.map((service) => readObject('services', service, dialect))
    state.replace('services', parsed, '1')
  }
  return { state, addresses, claimed, reports, reported, put, list }
}

function aged(service: WireFixture, creationTimestamp: string): WireFixture {
  return { ...service, metadata: { ...service.metadata, ...{ creationTimestamp } } }
}

const web = wireService('web', '2', { externalIPs: ['192.0.2.9'] })
const nodePlan = { nodeName: 'n1', family: 'IPv4' as const }

describe('the Services as this node may serve them', () => {
  test('are reported at once where no Service has external addresses, and no nodes are requested', async () => {
    const { claimed, addresses, reported, list } = fixture()
    await claimed.start()
    let isWanted = false
    void addresses.whenWanted('nodes').then(() => {
      isWanted = true
    })
    list(wireService('web', '2'))
    await until('they are reported', () => claimed.synced)
    assert.deepEqual([reported, isWanted], [[['default/web']], false])
    await claimed.stop()
  })

  test('wait for the nodes where one has external addresses, so that a restart takes no rule away', async () => {
    const { claimed, addresses, reported, list } = fixture()
    await claimed.start()
    list(web)
    await addresses.whenWanted('nodes')
    await sleep(10)
    assert.deepEqual([claimed.synced, claimed.revision, reported], [false, 0, []])
    addresses.replaceNodes(new Map([['n1', [ipOf('192.0.2.9')]]]))
    addresses.settle('nodes')
    addresses.settle('servicecidrs')
    await until('they are reported', () => claimed.synced)
    assert.deepEqual([...claimed.refusals().keys()], ['default/web'])
    const service = claimed.service('default/web')
    assert.ok(service)
    const slices = [{ source: 's', service: 'default/web', family: 'IPv4' as const, ports: [], endpoints: [] }]
    assert.deepEqual(planFrontends(service, slices, nodePlan)[0]?.externalIps, [])
    await claimed.stop()
  })

  test('do not wait for nodes that the server does not show', async () => {
    const { claimed, list } = fixture(20)
    await claimed.start()
    list(web)
    await until('they are reported', () => claimed.synced)
    assert.equal(claimed.refusals().size, 0)
    await claimed.stop()
  })

  test('change for others as well: each that has an address now or has it no more is named, and reported once', async () => {
    const { claimed, reports, reported, put, list, state, addresses } = fixture(0)
    await claimed.start()
    list(aged(web, '2026-01-02T00:00:00Z'))
    await until('they are reported', () => claimed.synced)
    reported.length = 0
    const older = aged(
      wireService('older', '3', { clusterIP: '10.96.0.2', externalIPs: ['192.0.2.9'] }),
      '2026-01-01T00:00:00Z',
    )
    put('services', older)
    assert.deepEqual(reported, [['default/older', 'default/web']])
    assert.deepEqual(
      reports.map(([service, refused]) => [service, refused.length]),
      [['default/web', 1]],
    )
    put('endpointslices', wireSlice('web-1', 'web', '4'))
    assert.deepEqual([reported.at(-1), reports.length], [['default/web'], 1])
    state.remove('services', 'default/older', '5')
    assert.deepEqual(reported.at(-1), ['default/older', 'default/web'])
    assert.deepEqual(reports.at(-1), ['default/web', []])
    addresses.setNode('n1', [ipOf('192.0.2.9')])
    assert.deepEqual(reported.at(-1), ['default/web'])
    const before = reported.length
    addresses.setNode('n2', [ipOf('192.0.2.200')])
    assert.equal(reported.length, before, 'an address that no Service claims changes nothing')
    await claimed.stop()
  })

  test('leave the API server alone, by its endpoints and by where this agent reaches it', async () => {
    const { claimed, put, list } = fixture(0)
    await claimed.start()
    const ports = [{ name: 'p', port: 6443 }]
    list(wireService('evil', '2', { externalIPs: ['203.0.113.9', '203.0.113.10'], ports }))
    await until('they are reported', () => claimed.synced)
    const refused = () =>
      claimed
        .refusals()
        .get('default/evil')
        ?.map(({ address, reason }) => `${address} ${reason}`)
    assert.deepEqual(refused(), ['203.0.113.9 api-server'])
    const endpoints = [{ addresses: ['203.0.113.10'] }]
    put(
      'endpointslices',
      wireSlice('kubernetes', 'kubernetes', '3', { ports: [{ name: 'https', port: 6443 }], endpoints }),
    )
    assert.deepEqual(refused(), ['203.0.113.9 api-server', '203.0.113.10 api-server'])
    await claimed.stop()
  })

  test('lose an address that an API server takes, and get it back when that one has moved', async () => {
    const { claimed, list } = fixture(0)
    await claimed.start()
    list(web)
    await until('the Services are judged', () => claimed.synced)
    const refused = () => [...claimed.refusals().keys()]
    assert.deepEqual(refused(), [])
    claimed.setApiServers(new Set(['192.0.2.9 TCP 80', '192.0.2.9 TCP 6443']))
    assert.deepEqual(refused(), ['default/web'])
    claimed.setApiServers(new Set(['203.0.113.9 TCP 6443']))
    assert.deepEqual(refused(), [])
    await claimed.stop()
  })
})
