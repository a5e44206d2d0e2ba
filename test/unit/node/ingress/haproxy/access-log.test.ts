import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readServedRequest } from '../../../../../src/node/ingress/haproxy/access-log.ts'

const line = {
  client: '192.0.2.7',
  protocol: 'HTTP/2.0',
  tls: true,
  method: 'GET',
  host: 'a.example.com',
  path: '/x',
  status: 503,
  durationMs: 12,
  bytes: 90,
  requestId: 'abc',
  pattern: '*',
  route: 'rr.h1.3|any|default/web',
  endpoint: '10.0.0.1:80',
  state: 'SC',
}

test('A line of the access log becomes a served request', () => {
  assert.deepEqual(readServedRequest(JSON.stringify(line)), {
    client: '192.0.2.7',
    protocol: 'HTTP/2.0',
    isTls: true,
    method: 'GET',
    host: 'a.example.com',
    path: '/x',
    status: 503,
    durationMs: 12,
    requestId: 'abc',
    pattern: '',
    ingress: 'default/web',
    endpoint: '10.0.0.1:80',
    fault: 'haproxy ended the exchange in state SC',
  })
})

test('A request that no Ingress has names neither Ingress nor endpoint', () => {
  const unrouted = readServedRequest(
    JSON.stringify({ ...line, route: 'unrouted|none|', endpoint: '<NOSRV>:-', state: 'LR' }),
  )
  assert.ok(unrouted)
  for (const name of ['pattern', 'ingress', 'endpoint', 'fault'] as const) assert.equal(unrouted[name], undefined)
})

test('A line that is cut off or of another shape is nothing', () => {
  for (const text of ['', '{"client":"1', 'null', '[]', JSON.stringify({ ...line, status: '200' })])
    assert.equal(readServedRequest(text), undefined)
})
