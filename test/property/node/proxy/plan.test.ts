import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { planFrontends } from '../../../../src/node/proxy/plan.ts'
import { makeEndpoint, makePort, makeService, makeSlice } from '../../../helpers/services.ts'

const service = makeService('default/web', '10.96.0.10', {
  externalTrafficPolicy: 'Local',
  ports: [makePort('http', 'TCP', 80, 30080)],
})
const node = { nodeName: 'node-a', family: 'IPv4', zone: 'zone-a' } as const
const anyEndpoint = fc
  .record({
    host: fc.nat(3),
    ready: fc.boolean(),
    serving: fc.boolean(),
    terminating: fc.boolean(),
    nodeName: fc.constantFrom('node-a', 'node-b'),
    hints: fc.record({
      zones: fc.subarray(['zone-a', 'zone-b']),
      nodes: fc.subarray(['node-a', 'node-b']),
    }),
  })
  .map(({ host, ...conditions }) => makeEndpoint(`10.244.0.${host}`, conditions))
const anySlices = fc
  .array(fc.array(anyEndpoint, { maxLength: 4 }))
  .map((lists) =>
    lists.map((endpoints, index) => makeSlice('default/web', [['http', 'TCP', 8080]], endpoints, String(index))),
  )

test('neither the order of slices nor that of their endpoints changes the plan', () => {
  fc.assert(
    fc.property(anySlices, (slices) => {
      const reversed = slices.toReversed().map((slice) => ({ ...slice, endpoints: slice.endpoints.toReversed() }))
      assert.deepEqual(planFrontends(service, reversed, node), planFrontends(service, slices, node))
    }),
  )
})

test('endpoints stand once, in order, and only where they could answer', () => {
  fc.assert(
    fc.property(anySlices, (slices) => {
      const [frontend] = planFrontends(service, slices, node)
      const known = slices.flatMap((slice) => slice.endpoints)
      for (const list of [frontend?.clusterEndpoints ?? [], frontend?.localEndpoints ?? []]) {
        const addresses = list.map((endpoint) => endpoint.address)
        assert.deepEqual(addresses, [...new Set(addresses)].sort())
        for (const address of addresses) {
          const conditions = known.filter((endpoint) => endpoint.address === address)
          assert.ok(conditions.some((endpoint) => endpoint.ready || (endpoint.serving && endpoint.terminating)))
        }
      }
    }),
  )
})
