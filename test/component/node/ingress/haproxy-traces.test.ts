import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import type { EndedSpan } from '../../../../src/observe/index.ts'
import { HaproxyLab, haproxySkipReason, wholeChange, withEndpoints } from '../../../helpers/haproxy-lab.ts'
import { httpGet } from '../../../helpers/http-get.ts'
import { createRecordingTracer } from '../../../helpers/recording-tracer.ts'
import { routingTable } from '../../../helpers/routing-tables.ts'
import { until } from '../../../helpers/until.ts'

const skip = haproxySkipReason()
const sent = `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`

interface Traced extends AsyncDisposable {
  readonly spans: readonly EndedSpan[]
  readonly served: HaproxyLab['served']
  /** The traceparent that the backend got. */
  ask(path: string, headers?: Readonly<Record<string, string>>): Promise<string>
}

async function startTraced(
  tracing: { readonly ratio: number; readonly followsParent: boolean },
  accessLog: number,
): Promise<Traced> {
  const { tracer, spans } = createRecordingTracer(tracing)
  const lab = await HaproxyLab.create({ accessLog, tracing, tracer })
  const backend = createServer((request, response) => {
    response.end(String(request.headers['traceparent']))
  })
  await new Promise<void>((resolve) => backend.listen(0, '127.0.0.1', resolve))
  backend.unref()
  const { port } = backend.address() as AddressInfo
  const table = withEndpoints(routingTable({ 'a.example.com': { prefix: ['/'] } }), () => [port])
  await lab.driver.start()
  await lab.driver.apply(table, wholeChange(table)).catch(async (error) => {
    await lab[Symbol.asyncDispose]()
    throw error
  })
  return {
    spans,
    served: lab.served,
    ask: async (path, headers = {}) => {
      const asked = { host: '127.0.0.1', port: lab.httpPort, path, headers: { host: 'a.example.com', ...headers } }
      return (await httpGet(asked)).body
    },
    [Symbol.asyncDispose]: async () => {
      await lab[Symbol.asyncDispose]()
      backend.closeAllConnections()
      backend.close()
    },
  }
}

test('A request through haproxy has a span in the trace of the client, and the backend is below it', {
  skip,
}, async () => {
  await using lab = await startTraced({ ratio: 1, followsParent: true }, 0)
  const got = await lab.ask('/cart?token=secret', { traceparent: sent, cookie: 'token=secret' })
  await until('the span is here', () => lab.spans.length === 1)
  const [span] = lab.spans
  assert.ok(span)
  assert.equal(got, `00-${'a'.repeat(32)}-${span.context.spanId}-01`)
  assert.deepEqual([span.context.traceId, span.parent?.spanId], ['a'.repeat(32), 'b'.repeat(16)])
  assert.equal(span.attributes['url.path'], '/cart')
  assert.equal(span.attributes['http.response.status_code'], 200)
  assert.ok(Math.abs(span.endMs - Date.now()) < 10_000 && span.startMs <= span.endMs)
  assert.doesNotMatch(JSON.stringify(lab.spans), /secret/)
  const begun = await lab.ask('/', { traceparent: 'unsound' })
  await until('the second span is here', () => lab.spans.length === 2)
  assert.equal(begun, `00-${lab.spans[1]?.context.traceId}-${lab.spans[1]?.context.spanId}-01`)
  assert.equal(lab.spans[1]?.parent, undefined)
  assert.deepEqual(lab.served, [], 'a line for a span alone is no line of the access log')
})

test('A request that is not sampled has no span, the backend learns that, and the access log goes on', {
  skip,
}, async () => {
  await using lab = await startTraced({ ratio: 0, followsParent: true }, 1)
  assert.match(await lab.ask('/a'), /^00-[0-9]{32}-[0-9]{16}-00$/)
  assert.match(await lab.ask('/b', { traceparent: sent.replace(/01$/, '00') }), /^00-a{32}-[0-9]{16}-00$/)
  await lab.ask('/c', { traceparent: sent })
  await until('the span of the sampled one is here', () => lab.spans.length === 1)
  await until('all have a line', () => lab.served.length === 3)
  // haproxy has a thread for each processor, and each writes its lines when it comes to it.
  assert.deepEqual(lab.served.map(({ path }) => path).toSorted(), ['/a', '/b', '/c'])
})
