import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { ReverseOwners, type ReverseTargets } from '../../../../../src/node/dns/zone/reverse-owners.ts'
import { TestZone } from '../../../../helpers/dns-zone.ts'
import { ip, makeService, makeSlice } from '../../../../helpers/services.ts'

const addresses = Array.from({ length: 300 }, (_, index) => ip(`10.244.${index >> 7}.${(index & 127) + 1}`))

function names(...targets: readonly string[]): ReverseTargets {
  return { isService: false, targets }
}

function changed(owners: ReverseOwners) {
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
    const owners = new ReverseOwners()
    owners.replace('a/x', [], new Map([[first, names('x')]]))
    owners.replace('a/y', [], new Map([[first, names('y', 'x')]]))
    assert.deepEqual(changed(owners), [[first, 'x', 'y']])
    owners.replace('a/x', [first], new Map())
    assert.deepEqual(changed(owners), [[first, 'x', 'y']])
    owners.replace('a/y', [first], new Map())
    assert.deepEqual(changed(owners), [[first]])
  })

  test('leads to the Service whose own it is alone, the first by name', () => {
    const owners = new ReverseOwners()
    const own = (target: string) => new Map([[first, { isService: true, targets: [target] }]])
    owners.replace('b/y', [], own('y'))
    owners.replace('a/pod', [], new Map([[first, names('pod')]]))
    owners.replace('a/x', [], own('x'))
    assert.deepEqual(changed(owners), [[first, 'x']])
  })

  test('is answered anew only where its names differ, once for all that changed', () => {
    const owners = new ReverseOwners()
    const all = (target: string) => new Map(addresses.map((address) => [address, names(target)]))
    for (let service = 0; service < 100; service += 1) owners.replace(`a/s${service}`, [], all(`s${service}`))
    assert.equal(changed(owners).length, addresses.length)
    for (let service = 0; service < 100; service += 1) owners.replace(`a/s${service}`, addresses, all(`s${service}`))
    assert.deepEqual(changed(owners), [])
    owners.replace('a/s7', addresses, new Map([...all('s7'), [second, names('other')]]))
    assert.deepEqual(
      changed(owners).map(([address]) => address),
      [second],
    )
  })

  test('has as many names as fit in a message', () => {
    const owners = new ReverseOwners()
    for (let service = 0; service < 3000; service += 1)
      owners.replace(`a/s${service}`, [], new Map([[first, names(`s${service}`)]]))
    assert.equal(changed(owners)[0]?.length, 1001)
  })
})

test('one more endpoint of a Service changes its own names, whatever others have the same endpoints', () => {
  const { zone } = new TestZone().synced()
  for (let service = 0; service < 20; service += 1) zone.setService(...sharing(`default/s${service}`, 100))
  const [key, view] = sharing('default/s0', 101)
  const forward = [...zone.setServiceInSteps(key, view)].length
  const reverse = [...zone.answerReverseInSteps()].length
  assert.ok(forward <= 6, `${forward} names were made anew`)
  assert.equal(reverse, 1)
})
