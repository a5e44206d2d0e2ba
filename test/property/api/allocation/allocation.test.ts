import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { findFree } from '../../../../src/api/allocation/band.ts'
import { startTestServer } from '../../../helpers/api-server.ts'
import { paths } from '../../../helpers/manifests.ts'

test('a free number is found exactly when there is one, in the dynamic band as long as that has one', async () => {
  const numbers = fc.uniqueArray(fc.integer({ min: 10, max: 29 }))
  await fc.assert(
    fc.asyncProperty(numbers, fc.integer({ min: 10, max: 29 }), fc.nat(), async (takenNumbers, dynamicFirst, seed) => {
      const taken = new Set(takenNumbers.map(BigInt))
      const band = { first: 10n, dynamicFirst: BigInt(dynamicFirst), last: 29n, reserved: new Set([15n]) }
      let turn = seed
      const pickBelow = (limit: number) => turn++ % limit
      const isTaken = async (value: bigint) => taken.has(value)
      const found = await findFree(band, isTaken, async () => taken, pickBelow)
      const free = Array.from({ length: 20 }, (_, index) => BigInt(10 + index)).filter(
        (value) => !taken.has(value) && value !== 15n,
      )
      const dynamic = free.filter((value) => value >= band.dynamicFirst)
      if (free.length === 0) assert.equal(found, undefined)
      else assert.ok(found !== undefined && (dynamic.length > 0 ? dynamic : free).includes(found))
    }),
  )
})

type Step = { readonly kind: 'create' | 'delete' | 'retype'; readonly name: string; readonly explicit: number }

const step: fc.Arbitrary<Step> = fc.record({
  kind: fc.constantFrom('create' as const, 'create' as const, 'delete' as const, 'retype' as const),
  name: fc.constantFrom('a', 'b', 'c', 'd', 'e', 'f'),
  explicit: fc.constantFrom(0, 0, 2, 3),
})

test('whatever writers do at once, no address and no port is held twice, and all are held that are used', async () => {
  await using server = await startTestServer({
    serviceCidr: '10.99.0.0/29',
    nodePortRange: { first: 30000, last: 30003 },
  })
  const perform = ({ kind, name, explicit }: Step) => {
    const path = `${paths.services}/${name}`
    if (kind === 'delete') return server.call('DELETE', path)
    if (kind === 'retype') {
      const headers = { 'content-type': 'application/merge-patch+json' }
      return server.call('PATCH', path, {
        body: { spec: { type: explicit === 0 ? 'NodePort' : 'ClusterIP' } },
        headers,
      })
    }
    const address = explicit === 0 ? {} : { clusterIP: `10.99.0.${explicit}` }
    const spec = { type: 'NodePort', ports: [{ port: 80 }], ...address }
    return server.call('POST', paths.services, { body: { metadata: { name }, spec } })
  }
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 4, maxLength: 12 }), async (steps) => {
      await Promise.all(steps.map(perform))
      const { items } = (await server.call('GET', paths.services)).body as { items: ServiceItem[] }
      const addresses = items.map(({ spec }) => spec.clusterIP)
      const nodePorts = items.flatMap(({ spec }) => spec.ports.flatMap(({ nodePort }) => nodePort ?? []))
      assert.equal(new Set(addresses).size, addresses.length)
      assert.equal(new Set(nodePorts).size, nodePorts.length)
      assert.deepEqual(await held('/registry/ipaddresses/'), addresses.toSorted())
      assert.deepEqual(await held('/registry/nodeportallocations/'), nodePorts.map(String).toSorted())
    }),
    { numRuns: 25 },
  )

  async function held(prefix: string): Promise<string[]> {
    const { entries } = await server.store.range(prefix)
    return entries.map(({ key }) => key.slice(prefix.length)).toSorted()
  }
})

interface ServiceItem {
  readonly spec: { readonly clusterIP: string; readonly ports: readonly { readonly nodePort?: number }[] }
}
