import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { type SpanExporter, SpanQueue } from '../../../../src/observe/tracing/span-queue.ts'
import type { EndedSpan } from '../../../../src/observe/tracing/tracer.ts'
import { createRecordingLogger } from '../../../helpers/recording-logger.ts'
import { until } from '../../../helpers/until.ts'

const settings = { maxSpans: 10, maxBatch: 4, delayMs: 0, timeoutMs: 1000 }
const span = (name: string): EndedSpan => ({
  name,
  kind: 'internal',
  context: { traceId: 'a'.repeat(32), spanId: 'b'.repeat(16), isSampled: true },
  parent: undefined,
  links: [],
  attributes: {},
  startMs: 1,
  endMs: 2,
  error: undefined,
})

/** An exporter of which the test decides how each export ends. */
class Steered implements SpanExporter {
  readonly batches: string[][] = []
  isClosed = false
  answer: () => Promise<void> = async () => {}

  export(spans: readonly EndedSpan[]): Promise<void> {
    this.batches.push(spans.map(({ name }) => name))
    return this.answer()
  }

  async close(): Promise<void> {
    this.isClosed = true
  }
}

function setUp(changes: Partial<typeof settings> = {}) {
  const exporter = new Steered()
  const { log, lines } = createRecordingLogger()
  return { exporter, lines, queue: new SpanQueue(exporter, { ...settings, ...changes }, log) }
}

const soon = (ms: number) => AbortSignal.timeout(ms)

describe('The queue of spans', () => {
  test('exports in batches, in order, and what is left when it closes', async () => {
    const { exporter, queue } = setUp({ delayMs: 60_000 })
    queue.add(span('0'))
    await until('the first is exported', () => queue.counts.exported === 1)
    for (const name of ['1', '2', '3', '4', '5', '6']) queue.add(span(name))
    await until('a full batch is exported', () => queue.counts.exported === 5)
    assert.equal(queue.size, 2)
    await queue.close(soon(1000))
    assert.deepEqual(exporter.batches, [['0'], ['1', '2', '3', '4'], ['5', '6']])
    assert.ok(exporter.isClosed)
  })

  test('drops and counts what does not fit while the collector hangs, and a stop waits no longer than its deadline', async () => {
    const { exporter, queue, lines } = setUp()
    exporter.answer = () => new Promise(() => {})
    for (let index = 0; index < 1000; index++) queue.add(span(String(index)))
    assert.equal(queue.size, 10)
    assert.equal(queue.counts.overflowed, 990)
    const startedMs = performance.now()
    await queue.close(soon(50))
    assert.ok(performance.now() - startedMs < 5_000)
    assert.deepEqual(queue.counts, { exported: 0, overflowed: 990, refused: 10 })
    assert.equal(queue.size, 0)
    assert.equal(lines.filter((line) => line.startsWith('warn')).length, 1)
  })

  test('keeps a batch that was not taken, warns once, and says when it goes on', async () => {
    const { exporter, queue, lines } = setUp()
    exporter.answer = async () => {
      throw new Error('connection refused')
    }
    queue.add(span('a'))
    await until('it was tried', () => exporter.batches.length === 1)
    await sleep(20)
    assert.equal(queue.size, 1)
    exporter.answer = async () => {}
    await until('it is exported', () => queue.counts.exported === 1)
    assert.deepEqual(exporter.batches, [['a'], ['a']])
    assert.deepEqual(lines, [
      'warn spans cannot be exported; they wait where there is room, and the others are dropped',
      'info spans are exported again',
    ])
    await queue.close(soon(1000))
  })

  test('gives a batch up when it closes and the collector still does not take it', async () => {
    const { exporter, queue } = setUp()
    exporter.answer = async () => {
      throw new Error('no')
    }
    for (const name of ['a', 'b']) queue.add(span(name))
    await queue.close(soon(1000))
    assert.deepEqual(queue.counts, { exported: 0, overflowed: 0, refused: 2 })
    assert.ok(exporter.isClosed)
  })

  test('does not count a batch as taken whose answer comes after the queue was closed', async () => {
    const { exporter, queue } = setUp()
    const late = Promise.withResolvers<void>()
    exporter.answer = () => late.promise
    queue.add(span('a'))
    await until('it is on its way', () => exporter.batches.length === 1)
    await queue.close(soon(20))
    late.resolve()
    await sleep(5)
    assert.deepEqual(queue.counts, { exported: 0, overflowed: 0, refused: 1 })
  })
})
