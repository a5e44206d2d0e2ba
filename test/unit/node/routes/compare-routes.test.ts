import assert from 'node:assert/strict'
import { test } from 'node:test'
import { compareRoutes } from '../../../../src/node/routes/compare-routes.ts'
import { cidrOf, ipOf } from '../../../helpers/addresses.ts'
import { assertLinear } from '../../../helpers/growth.ts'

const [destination, via] = [cidrOf('10.244.1.0/24'), ipOf('192.0.2.2')]
const present = { dst: '10.244.1.0/24', gateway: '192.0.2.2', dev: 'eth0' }

test('a route without a device stands on any device, one with a device on that alone', () => {
  assert.deepEqual(compareRoutes([present], [{ destination, via }]), { missing: [], stale: [] })
  const wanted = { destination, via, device: 'plt-vxlan' }
  assert.deepEqual(compareRoutes([present], [wanted]), { missing: [wanted], stale: [present] })
  const there = { ...present, dev: 'plt-vxlan' }
  assert.deepEqual(compareRoutes([there], [wanted]), { missing: [], stale: [] })
})

test('another gateway is another route, and the network of one address is printed without its length', () => {
  const wanted = { destination, via: ipOf('192.0.2.3') }
  assert.deepEqual(compareRoutes([present], [wanted]), { missing: [wanted], stale: [present] })
  const single = { dst: '10.244.9.9', gateway: '192.0.2.2' }
  assert.deepEqual(compareRoutes([single], [{ destination: cidrOf('10.244.9.9/32'), via }]), { missing: [], stale: [] })
})

test('the routes to thousands of nodes are compared in time proportional to their number', () => {
  const routes = Array.from({ length: 4_000 }, (_, index) => ({
    destination: cidrOf(`10.${index >> 8}.${index & 255}.0/24`),
    via,
  }))
  const listed = routes.map((route) => ({ dst: route.destination, gateway: via, dev: 'eth0' })).toReversed()
  assertLinear('routes', 1_000, (count) => {
    assert.deepEqual(compareRoutes(listed.slice(-count), routes.slice(0, count)), { missing: [], stale: [] })
  })
})
