import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { silentSpan, silentTracer, startShared } from '../../../../src/observe/index.ts'
import { createRecordingTracer as recording } from '../../../helpers/recording-tracer.ts'

const remote = { traceId: 'a'.repeat(32), spanId: 'b'.repeat(16), isSampled: true }

describe('A tracer', () => {
  test('gives a child the trace and the span above it', () => {
    const { tracer, spans } = recording()
    const root = tracer.start('root', { kind: 'server', parent: remote })
    root.child('step').end()
    root.end()
    assert.deepEqual(
      spans.map(({ name, context, parent }) => [name, context.traceId, parent?.spanId]),
      [
        ['step', remote.traceId, root.context?.spanId],
        ['root', remote.traceId, remote.spanId],
      ],
    )
  })

  test('keeps the time order of a child in its parent, and exports a span once', () => {
    const { tracer, spans } = recording()
    const root = tracer.start('root')
    const step = root.child('step')
    step.end()
    root.end({ error: 'no room' })
    root.end()
    const [inner, outer] = spans
    assert.equal(spans.length, 2)
    assert.ok(inner && outer && outer.startMs <= inner.startMs && inner.endMs <= outer.endMs)
    assert.equal(outer.error, 'no room')
  })

  test('follows the decision of the parent, or its own where the sampler says so', () => {
    const unsampled = { ...remote, isSampled: false }
    assert.equal(recording().tracer.start('a', { parent: unsampled }).isRecorded, false)
    assert.equal(recording({ ratio: 0, followsParent: true }).tracer.start('a', { parent: remote }).isRecorded, true)
    assert.equal(
      recording({ ratio: 1, followsParent: false }).tracer.start('a', { parent: unsampled }).isRecorded,
      true,
    )
    assert.equal(recording({ ratio: 0, followsParent: false }).tracer.start('a', { parent: remote }).isRecorded, false)
  })

  test('hands an unsampled trace on, so that no span below it decides again', () => {
    const { tracer, spans } = recording({ ratio: 0, followsParent: true })
    const span = tracer.start('a')
    assert.equal(span.context?.isSampled, false)
    span.child('b').end()
    span.end()
    assert.deepEqual(spans, [])
  })

  test('exports about the share of traces that it is asked for', () => {
    const { tracer } = recording({ ratio: 0.1, followsParent: true })
    const kept = Array.from({ length: 10_000 }, () => tracer.start('a')).filter(({ isRecorded }) => isRecorded)
    // Five standard deviations.
    assert.ok(kept.length > 850 && kept.length < 1150, `${kept.length} of 10000`)
  })

  test('bounds text from outside and makes it whole characters', () => {
    const { tracer, spans } = recording()
    tracer.start('a', { attributes: { long: '𝄞'.repeat(1000), broken: '\ud834', none: undefined } }).end()
    const { attributes } = spans[0] ?? assert.fail()
    assert.equal(String(attributes['long']).length, 256)
    assert.equal(attributes['broken'], '\ufffd')
    assert.ok(!('none' in attributes))
  })

  test('that is off makes no spans and gives no context', () => {
    assert.equal(silentTracer.start('a', { parent: remote }), silentSpan)
    assert.equal(silentSpan.child('b').context, undefined)
  })
})

describe('A step that several traces led to', () => {
  const traces = ['1', '2', '3'].map((digit) => ({ ...remote, traceId: digit.repeat(32) }))

  test('stands in each of them, and its spans are linked', () => {
    const { tracer, spans } = recording()
    const span = startShared(tracer, 'write', traces, { attributes: { chains: 3 } })
    span.child('restore').end()
    span.set({ bytes: 10 })
    span.end({ error: 'refused' })
    span.end()
    const writes = spans.filter(({ name }) => name === 'write')
    assert.deepEqual(
      writes.map(({ context }) => context.traceId).sort(),
      traces.map(({ traceId }) => traceId),
    )
    const main = writes.find(({ context }) => context.traceId === traces[0]?.traceId) ?? assert.fail()
    assert.deepEqual(main.links, traces.slice(1))
    for (const write of writes) {
      assert.deepEqual(write.attributes, { chains: 3, bytes: 10 })
      assert.equal(write.error, 'refused')
      assert.equal(write.parent?.spanId, remote.spanId)
      if (write !== main) assert.deepEqual(write.links, [main.context])
    }
    assert.equal(new Set(writes.map(({ context }) => context.spanId)).size, 3)
    assert.equal(spans.find(({ name }) => name === 'restore')?.parent?.spanId, main.context.spanId)
  })

  test('stands in 32 of them at most', () => {
    const { tracer, spans } = recording()
    const many = Array.from({ length: 1000 }, (_, index) => ({
      ...remote,
      traceId: (index + 1).toString(16).padStart(32, '0'),
    }))
    startShared(tracer, 'write', many).end()
    assert.equal(spans.length, 32)
  })

  test('begins a trace where none led to it', () => {
    const { tracer, spans } = recording()
    startShared(tracer, 'write', []).end()
    assert.equal(spans[0]?.parent, undefined)
  })
})
