import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { answerHeaders, requestHeaders, requestIdOf } from '../../../../../src/node/ingress/in-process/headers.ts'
import { parseTarget } from '../../../../../src/node/ingress/in-process/request-target.ts'

const facts = { client: '203.0.113.5', isTls: true, port: 443, authority: 'a.example.com' }

/** Headers for a backend as `name: value`. */
function passed(...headers: readonly string[]): readonly string[] {
  const flat = requestHeaders(headers, facts, { requestId: 'id' })
  return flat.flatMap((name, index) => (index % 2 === 0 ? [`${name}: ${flat[index + 1]}`] : []))
}

describe('The headers of a request', () => {
  test('lose what concerns one connection, also what Connection names, and keep the rest with its order and case', () => {
    const lines = passed('X-One', '1', 'Connection', 'close, X-Two', 'X-Two', '2', 'Keep-Alive', '5', 'x-one', '3')
    assert.deepEqual(lines.slice(0, 3), ['host: a.example.com', 'X-One: 1', 'x-one: 3'])
    assert.ok(lines.every((line) => !/^(connection|x-two|keep-alive)/i.test(line)))
  })

  test('say who the client is whatever it says itself, also where Connection names those headers', () => {
    const lines = passed('X-Forwarded-For', '6.6.6.6', 'x-forwarded-proto', 'http', 'Connection', 'x-forwarded-for')
    const own = ['for: 203.0.113.5', 'proto: https', 'host: a.example.com', 'port: 443']
    assert.deepEqual(
      lines.filter((line) => line.startsWith('x-forwarded-')),
      own.map((line) => `x-forwarded-${line}`),
    )
  })

  test('keep a traceparent and an X-Request-Id that are sound, and get new ones otherwise', () => {
    const sound = `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`
    assert.ok(passed('traceparent', sound).includes(`traceparent: ${sound}`))
    for (const broken of [
      '00-xyz',
      `00-${'0'.repeat(32)}-${'b'.repeat(16)}-01`,
      `ff-${'a'.repeat(32)}-${'b'.repeat(16)}-01`,
    ])
      assert.ok(!passed('traceparent', broken).includes(`traceparent: ${broken}`), broken)
    assert.equal(requestIdOf(['X-Request-Id', 'mine']), 'mine')
    assert.match(requestIdOf(['X-Request-Id', 'a b']), /^[0-9a-f-]{36}$/)
    assert.match(requestIdOf(['X-Request-Id', 'a', 'X-Request-Id', 'b']), /^[0-9a-f-]{36}$/)
  })

  test('of an answer lose what concerns one connection', () => {
    const headers = { connection: 'close, x-a', 'x-a': '1', 'keep-alive': '5', 'set-cookie': ['a=1', 'b=2'], etag: 'e' }
    assert.deepEqual(answerHeaders(headers), [
      ['set-cookie', ['a=1', 'b=2']],
      ['etag', 'e'],
    ])
  })
})

describe('The target of a request', () => {
  const cases: readonly (readonly [target: string, hosts: readonly string[], expected: string])[] = [
    ['/a?b', ['A.example.com:80'], 'a.example.com /a /a?b'],
    ['http://b.example.com/x?y', ['a'], 'b.example.com /x /x?y'],
    ['HTTP://b.example.com', ['a'], 'b.example.com / /'],
    ['http://b.example.com?q', ['a'], 'b.example.com / /?q'],
    ['//a/../b', ['[2001:db8::1]:443'], '[2001:db8::1] //a/../b //a/../b'],
    ['*', ['a'], 'refused'],
    ['/a#b', ['a'], 'refused'],
    ['/', [], 'refused'],
    ['/', ['a', 'b'], 'refused'],
    ['/', ['a b'], 'refused'],
    ['/', ['user@a'], 'refused'],
    ['http://user@a/', ['a'], 'refused'],
  ]
  for (const [target, hosts, expected] of cases)
    test(`${target} with the hosts "${hosts.join()}" is ${expected}`, () => {
      const parsed = parseTarget(target, hosts, { needsHost: true })
      assert.equal(parsed ? `${parsed.host} ${parsed.path} ${parsed.pathAndQuery}` : 'refused', expected)
    })
})
