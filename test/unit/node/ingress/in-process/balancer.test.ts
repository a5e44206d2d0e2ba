import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Ip } from '../../../../../src/model/ip.ts'
import type { Backend } from '../../../../../src/model/routing-table.ts'
import { Balancer, endpointName, stickyValue } from '../../../../../src/node/ingress/in-process/balancer.ts'

const endpoints = [1, 2, 3].map((last) => ({ ip: `192.0.2.${last}` as Ip, port: 80 }))
const backend: Backend = {
  id: 'default_web_80',
  service: 'default/web',
  port: '80',
  endpoints,
  balance: 'round-robin',
  protocol: 'http1',
}
const names = endpoints.map(endpointName)

describe('The choice of an endpoint', () => {
  test('goes round by round robin, and leaves out what was tried', () => {
    const balancer = new Balancer()
    const choose = (...tried: readonly string[]) => balancer.choose(backend, undefined, new Set(tried))
    assert.deepEqual(
      [choose(), choose(), choose(), choose()].map((each) => each && endpointName(each)),
      [...names, names[0]],
    )
    const others = Array.from({ length: 4 }, () => choose(names[0] ?? ''))
    assert.ok(others.every((each) => each !== undefined && endpointName(each) !== names[0]))
    assert.equal(choose(...names), undefined)
  })

  test('takes the endpoint with the fewest requests under way by least connections', () => {
    const balancer = new Balancer()
    const least = { ...backend, balance: 'least-connections' as const }
    const [first, second] = endpoints
    assert.ok(first && second)
    const ends = [first, first, second].map((endpoint) => balancer.begin(endpoint))
    for (let turn = 0; turn < 4; turn += 1) assert.deepEqual(balancer.choose(least, undefined, new Set()), endpoints[2])
    for (const end of ends) end()
    ends[0]?.()
    balancer.begin(first)
    for (let turn = 0; turn < 4; turn += 1) assert.notDeepEqual(balancer.choose(least, undefined, new Set()), first)
  })

  test('follows a cookie while its endpoint is there and was not tried', () => {
    const balancer = new Balancer()
    const second = endpoints[1]
    assert.ok(second)
    const cookie = stickyValue(second)
    for (let turn = 0; turn < 3; turn += 1) assert.deepEqual(balancer.choose(backend, cookie, new Set()), second)
    assert.notDeepEqual(balancer.choose(backend, cookie, new Set([endpointName(second)])), second)
    assert.notEqual(balancer.choose(backend, '192.0.2.9:80', new Set()), undefined)
  })
})
