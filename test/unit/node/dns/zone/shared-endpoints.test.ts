import assert from 'node:assert/strict'
import { describe, mock, test } from 'node:test'
import type { Ip } from '../../../../../src/model/ip.ts'
import { recordType } from '../../../../../src/node/dns/wire/codes.ts'
import { AnswerTableWriter } from '../../../../../src/node/dns/zone/answer-table-writer.ts'
import { ReverseIndex, type ReverseTargets } from '../../../../../src/node/dns/zone/reverse-index.ts'
import { TestZone } from '../../../../helpers/dns-zone.ts'
import { ip, makeEndpoint, makeService, makeSlice } from '../../../../helpers/services.ts'

const addresses = Array.from({ length: 300 }, (_, index) => ip(`10.244.${index >> 7}.${(index & 127) + 1}`))

function names(...targets: readonly string[]): ReverseTargets {
  return { isService: false, targets }
}

function replace(
  owners: ReverseIndex,
  owner: string,
  before: readonly Ip[],
  now: ReadonlyMap<Ip, ReverseTargets>,
): void {
  for (const address of before) if (!now.has(address)) owners.remove(address, owner)
  for (const [address, targets] of now) owners.put(address, owner, targets)
}

function changed(owners: ReverseIndex) {
  return [...owners.takeChanged()].map(([address, targets]) => [address, ...targets])
}

function sharing(service: string, count: number) {
  const view = {
    service: makeService(service, '10.96.0.1'),
    slices: [makeSlice(service, [['', 'TCP', 80]], addresses.slice(0, count))],
  }
  return [service, view] as const
}

describe('an address that several Services share', () => {
  const [first = ip('10.0.0.1'), second = ip('10.0.0.2')] = addresses

  test('leads to all of them, and to those that are left', () => {
    const owners = new ReverseIndex()
    replace(owners, 'a/x', [], new Map([[first, names('x')]]))
    replace(owners, 'a/y', [], new Map([[first, names('y', 'x')]]))
    assert.deepEqual(changed(owners), [[first, 'x', 'y']])
    replace(owners, 'a/x', [first], new Map())
    assert.deepEqual(changed(owners), [[first, 'x', 'y']])
    replace(owners, 'a/y', [first], new Map())
    assert.deepEqual(changed(owners), [[first]])
  })

  test('leads only to the Service that owns it, the first by name', () => {
    const owners = new ReverseIndex()
    const own = (target: string) => new Map([[first, { isService: true, targets: [target] }]])
    replace(owners, 'b/y', [], own('y'))
    replace(owners, 'a/pod', [], new Map([[first, names('pod')]]))
    replace(owners, 'a/x', [], own('x'))
    assert.deepEqual(changed(owners), [[first, 'x']])
  })

  test('is written again only where its names differ, once for all changed Services', () => {
    const owners = new ReverseIndex()
    const all = (target: string) => new Map(addresses.map((address) => [address, names(target)]))
    for (let service = 0; service < 100; service += 1) replace(owners, `a/s${service}`, [], all(`s${service}`))
    assert.equal(changed(owners).length, addresses.length)
    for (let service = 0; service < 100; service += 1) replace(owners, `a/s${service}`, addresses, all(`s${service}`))
    assert.deepEqual(changed(owners), [])
    replace(owners, 'a/s7', addresses, new Map([...all('s7'), [second, names('other')]]))
    assert.deepEqual(
      changed(owners).map(([address]) => address),
      [second],
    )
  })

  test('has as many names as fit in a message', () => {
    const owners = new ReverseIndex()
    for (let service = 0; service < 3000; service += 1)
      replace(owners, `a/s${service}`, [], new Map([[first, names(`s${service}`)]]))
    assert.equal(changed(owners)[0]?.length, 1001)
  })
})

test('endpoints of one hostname that change places in their slice are answered in the new order', () => {
  const zone = new TestZone().synced()
  const service = makeService('default/web', '10.96.0.1', { headless: true, clusterIps: [] })
  const endpoints = ['10.0.0.1', '10.0.0.2', '10.0.0.3'].map((address) => makeEndpoint(address, { hostname: 'a' }))
  for (const order of [endpoints, endpoints.toReversed()]) {
    zone.add({ service, slices: [makeSlice(service.key, [['', 'TCP', 80]], order)] })
    const { answer } = zone.ask('a.web.default.svc.cluster.local', recordType.A)
    assert.deepEqual(
      answer.map(({ data }) => data.join('.')),
      order.map(({ address }) => address),
    )
  }
})

test('one more endpoint of a Service changes its own names, whatever others have the same endpoints', () => {
  const { zone } = new TestZone().synced()
  for (let service = 0; service < 20; service += 1) zone.setService(...sharing(`default/s${service}`, 100))
  const put = mock.method(AnswerTableWriter.prototype, 'put')
  const [key, { service, slices }] = sharing('default/s0', 100)
  zone.setService(key, { service, slices })
  put.mock.resetCalls()
  const view = { service, slices: sharing(key, 101)[1].slices }
  const steps = [...zone.setServiceInSteps(key, view)].length
  const forward = put.mock.callCount()
  const reverse = [...zone.answerReverseInSteps()].length
  put.mock.restore()
  assert.ok(forward > 0 && forward <= 6, `${forward} names were made anew`)
  assert.equal(reverse, 1)
  // The 100 endpoints that stay are no steps.
  assert.ok(steps < 50, `${steps} steps`)
})
