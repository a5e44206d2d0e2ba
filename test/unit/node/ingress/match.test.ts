import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { canonicalHost, matchRequest } from '../../../../src/node/ingress/match.ts'
import { matchCases, matchTable } from '../../../helpers/match-cases.ts'
import { routingTable } from '../../../helpers/routing-tables.ts'

const table = matchTable()

/** The host pattern, kind and path of the route; `404` where there is none. */
function found(host: string, path: string): string {
  const match = matchRequest(table, { host, path })
  return match.kind === 'none' ? '404' : `${match.host} ${match.route.kind} ${match.route.path}`
}

describe('The route of a request', () => {
  for (const [host, path, expected] of matchCases)
    test(`${host || 'no host'} with path ${path} goes to "${expected}"`, () =>
      assert.equal(found(host, path), expected))

  test('A request that nothing matches has no route, and the chosen host is named', () => {
    const strict = routingTable({ 'shop.example.com': { exact: ['/pay'] } })
    assert.deepEqual(matchRequest(strict, { host: 'shop.example.com', path: '/' }), {
      kind: 'none',
      host: 'shop.example.com',
    })
    assert.deepEqual(matchRequest(strict, { host: 'other.example.com', path: '/pay' }), { kind: 'none' })
  })

  test('A path of a hundred thousand slashes is judged at once', () => {
    const startMs = performance.now()
    assert.equal(found('cart.example.com', '/'.repeat(100_000)), 'cart.example.com default ')
    // Work for each pair of slashes would take minutes.
    assert.ok(performance.now() - startMs < 2_000)
  })
})

test('A host is compared without its port and last dot, in lower case', () => {
  assert.equal(canonicalHost('Shop.Example.com.:443'), 'shop.example.com')
  assert.equal(canonicalHost('[2001:DB8::1]:443'), '[2001:db8::1]')
})
