import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { bigIntToIp, renderAddressPort } from '../../../src/model/ip.ts'
import type { FrontendEndpoint } from '../../../src/netfilter/frontend.ts'
import { inPlaces, rememberedNumbers } from '../../../src/netfilter/nft/places.ts'

const anyEndpoints = fc
  .uniqueArray(fc.nat(400), { maxLength: 60 })
  .map((hosts) =>
    hosts.map((host): FrontendEndpoint => ({ address: bigIntToIp(0x0af40000n + BigInt(host), 'IPv4'), port: 80 })),
  )

const namesOf = (endpoints: readonly FrontendEndpoint[]) =>
  endpoints.map(({ address, port }) => renderAddressPort(address, port))

test('every endpoint has one place, the same in whatever order they come', () => {
  fc.assert(
    fc.property(anyEndpoints, (endpoints) => {
      const placed = namesOf(inPlaces(endpoints))
      assert.deepEqual(placed.toSorted(), namesOf(endpoints).toSorted())
      assert.deepEqual(namesOf(inPlaces(endpoints.toReversed())), placed)
    }),
  )
})

test('remembered numbers are above all places, and no two endpoints share one', () => {
  fc.assert(
    fc.property(anyEndpoints, (endpoints) => {
      const numbers = rememberedNumbers(inPlaces(endpoints))
      assert.equal(new Set(numbers).size, endpoints.length)
      assert.ok(numbers.every((number) => number > 0xffff && number < 0xffff_0000))
    }),
  )
})
