import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { httpGet } from '../../../helpers/http-get.ts'
import { backendOn, echo, IngressLab, startBackend } from '../../../helpers/in-process-ingress.ts'
import { createRecordingTracer } from '../../../helpers/recording-tracer.ts'
import { until } from '../../../helpers/until.ts'

describe('A traced request through the in-process driver', () => {
  const sent = `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`

  test('has a span in the trace of the client, and the backend is below it', async () => {
    const { tracer, spans } = createRecordingTracer()
    await using lab = new IngressLab({}, 0, tracer)
    await using backend = await startBackend(echo)
    await lab.start()
    await lab.route({ '/': backendOn([backend.port]) })
    const headers = { host: 'shop.example.com', traceparent: sent, cookie: 'token=secret' }
    const { body } = await httpGet({ host: '127.0.0.1', port: lab.httpPort, path: '/cart?token=secret', headers })
    await until('the span has ended', () => spans.length === 1)
    const [span] = spans
    assert.equal(JSON.parse(body).headers.traceparent, `00-${'a'.repeat(32)}-${span?.context.spanId}-01`)
    assert.equal(span?.parent?.spanId, 'b'.repeat(16))
    assert.equal(span.kind, 'server')
    assert.equal(span.attributes['url.path'], '/cart')
    assert.equal(span.attributes['http.response.status_code'], 200)
    assert.equal(span.attributes['platnet.endpoint'], `127.0.0.1:${backend.port}`)
    assert.doesNotMatch(JSON.stringify(spans), /secret/)
  })

  test('that is not sampled has none, and the backend learns that', async () => {
    const { tracer, spans } = createRecordingTracer({ ratio: 0, followsParent: true })
    await using lab = new IngressLab({}, 0, tracer)
    await using backend = await startBackend(echo)
    await lab.start()
    await lab.route({ '/': backendOn([backend.port]) })
    const { body } = await httpGet({ host: '127.0.0.1', port: lab.httpPort, path: '/', headers: { host: 'a.example' } })
    assert.match(JSON.parse(body).headers.traceparent, /^00-[0-9a-f]{32}-[0-9a-f]{16}-00$/)
    await until('the request is reported', () => lab.served.length === 1)
    assert.deepEqual(spans, [])
  })

  test('that no backend answers has an error', async () => {
    const { tracer, spans } = createRecordingTracer()
    await using lab = new IngressLab({}, 0, tracer)
    await lab.start()
    await lab.route({ '/': backendOn([]) })
    await httpGet({ host: '127.0.0.1', port: lab.httpPort, path: '/', headers: { host: 'a.example' } })
    await until('the span has ended', () => spans.length === 1)
    assert.match(spans[0]?.error ?? '', /no endpoint/)
  })
})
