import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ObjectKey } from '../../../../../src/model/api-object.ts'
import { readLoggedRequest as readLine } from '../../../../../src/node/ingress/haproxy/access-log.ts'

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
  measured: '-',
}

const services = new Map([['rr.h1.3', 'default/pay' as ObjectKey]])
const readLoggedRequest = (text: string) => readLine(text, (proxy) => services.get(proxy))

test('A line of the access log becomes a served request', () => {
  assert.deepEqual(readLoggedRequest(JSON.stringify(line))?.request, {
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
    service: 'default/pay',
    endpoint: '10.0.0.1:80',
    fault: 'haproxy ended the exchange in state SC',
  })
})

test('A request whose body has no length names the Service and the endpoint behind the way of such bodies', () => {
  const way = { route: 'measured|any|default/web|rr.h1.3', endpoint: 'unix:-', measured: '10.0.0.2:80' }
  const request = readLoggedRequest(JSON.stringify({ ...line, ...way }))?.request
  assert.deepEqual(
    [request?.ingress, request?.service, request?.endpoint],
    ['default/web', 'default/pay', '10.0.0.2:80'],
  )
})

test('A request that no Ingress has names neither Ingress nor endpoint', () => {
  const unrouted = readLoggedRequest(
    JSON.stringify({ ...line, route: 'unrouted|none|', endpoint: '<NOSRV>:-', state: 'LR' }),
  )?.request
  assert.ok(unrouted)
  for (const name of ['pattern', 'ingress', 'endpoint', 'fault'] as const) assert.equal(unrouted[name], undefined)
})

test('A line that is cut off or of another shape is nothing', () => {
  for (const text of ['', '{"client":"1', 'null', '[]', JSON.stringify({ ...line, status: '200' })])
    assert.equal(readLoggedRequest(text), undefined)
})

const traced = {
  line: '-',
  trace: 'a'.repeat(32),
  span: 'b'.repeat(16),
  parent: 'c'.repeat(16),
  sampled: '01',
  endMs: 1_790_000_000_000,
}

test('A line carries the span of a sampled request, and says whether it is for the access log too', () => {
  const read = (changes: object) => readLoggedRequest(JSON.stringify({ ...line, ...traced, ...changes }))
  assert.equal(read({})?.isForLog, false)
  assert.deepEqual(read({})?.trace, {
    context: { traceId: traced.trace, spanId: traced.span, isSampled: true },
    parent: { traceId: traced.trace, spanId: traced.parent, isSampled: true },
    endMs: traced.endMs,
  })
  assert.equal(read({ parent: '-' })?.trace?.parent, undefined)
  assert.equal(read({ line: 'true', sampled: '00' })?.isForLog, true)
  for (const unsound of [{ sampled: '00' }, { sampled: '-' }, { trace: 'x' }, { span: '0'.repeat(16) }])
    assert.equal(read(unsound)?.trace, undefined)
})
