import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SpanOutbox, type ThreadSpans } from '../../../../../src/node/dns/threads/span-outbox.ts'
import { createRecordingTracer } from '../../../../helpers/recording-tracer.ts'

test('A thread sends its spans in few messages of bounded size, and says how many it dropped', (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const { tracer, spans } = createRecordingTracer()
  tracer.start('DNS query').end()
  const [span] = spans
  assert.ok(span)
  const sent: ThreadSpans[] = []
  const outbox = new SpanOutbox((batch) => sent.push(batch))
  for (let index = 0; index < 3000; index++) outbox.add(span)
  assert.equal(sent.length, 0)
  t.mock.timers.tick(200)
  assert.deepEqual(
    sent.map((batch) => [batch.spans.length, batch.dropped]),
    [[1024, 1976]],
  )
  outbox.add(span)
  outbox.flush()
  outbox.flush()
  t.mock.timers.tick(1000)
  assert.deepEqual(
    sent.slice(1).map((batch) => [batch.spans.length, batch.dropped]),
    [[1, 0]],
  )
})
