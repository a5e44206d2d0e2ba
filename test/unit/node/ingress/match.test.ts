import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { canonicalHost, matchRequest } from '../../../../src/node/ingress/match.ts'
import { routingTable } from '../../../helpers/routing-tables.ts'

const table = routingTable({
  'shop.example.com': { exact: ['/', '/pay', '/pay/'], prefix: ['/pay', '/pay/card', '/'] },
  'cart.example.com': { prefix: ['/cart'], fallback: true },
  'bare.example.com': { exact: ['/only'] },
  '*.example.com': { prefix: ['/'] },
  '': { prefix: ['/any'], fallback: true },
})

/** The host pattern, kind and path of the route; `404` where there is none. */
function found(host: string, path: string): string {
  const match = matchRequest(table, { host, path })
  return match.kind === 'none' ? '404' : `${match.host} ${match.route.kind} ${match.route.path}`
}

describe('The route of a request', () => {
  const cases: readonly (readonly [host: string, path: string, expected: string])[] = [
    ['shop.example.com', '/', 'shop.example.com exact /'],
    ['shop.example.com', '/pay', 'shop.example.com exact /pay'],
    ['shop.example.com', '/pay/', 'shop.example.com exact /pay/'],
    ['shop.example.com', '/pay/other', 'shop.example.com prefix /pay'],
    ['shop.example.com', '/pay/card', 'shop.example.com prefix /pay/card'],
    ['shop.example.com', '/pay/card/', 'shop.example.com prefix /pay/card'],
    ['shop.example.com', '/pay/cards', 'shop.example.com prefix /pay'],
    ['shop.example.com', '/payment', 'shop.example.com prefix /'],
    ['shop.example.com', '/PAY', 'shop.example.com prefix /'],
    ['shop.example.com', '//pay', 'shop.example.com prefix /'],
    ['shop.example.com', '/x/../pay', 'shop.example.com prefix /'],
    ['shop.example.com', '/pay%2Fcard', 'shop.example.com prefix /'],
    ['SHOP.example.com.:8080', '/pay', 'shop.example.com exact /pay'],
    ['cart.example.com', '/cart', 'cart.example.com prefix /cart'],
    ['cart.example.com', '/carts', 'cart.example.com default '],
    ['bare.example.com', '/else', ' default '],
    ['other.example.com', '/any', '*.example.com prefix /'],
    ['a.b.example.com', '/any/thing', ' prefix /any'],
    ['example.com', '/x', ' default '],
    ['', '/any', ' prefix /any'],
    ['[::1]:80', '/any', ' prefix /any'],
    ['shop.example.com', '*', ' default '],
  ]
  for (const [host, path, expected] of cases)
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
    assert.ok(performance.now() - startMs < 50)
  })
})

test('A host is compared without its port and last dot, in lower case', () => {
  assert.equal(canonicalHost('Shop.Example.com.:443'), 'shop.example.com')
  assert.equal(canonicalHost('[2001:DB8::1]:443'), '[2001:db8::1]')
})
