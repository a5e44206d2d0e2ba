import assert from 'node:assert/strict'
import { test } from 'node:test'
import { recordType } from '../../../../../src/node/dns/wire/codes.ts'
import type { EndedSpan } from '../../../../../src/observe/index.ts'
import { makeQuery } from '../../../../helpers/dns-messages.ts'
import { TestDnsServer } from '../../../../helpers/dns-server.ts'
import { FakeUpstream } from '../../../../helpers/fake-upstream.ts'
import { createRecordingTracer } from '../../../../helpers/recording-tracer.ts'
import { until } from '../../../../helpers/until.ts'
import { answerBytes } from '../../../../helpers/upstream-messages.ts'

async function served(
  ratio: number,
  names: readonly string[],
): Promise<{ readonly spans: readonly EndedSpan[]; readonly address: string }> {
  const upstream = await new FakeUpstream(({ bytes }) => [answerBytes(bytes, { addresses: ['192.0.2.7'] })]).start()
  const { tracer, spans } = createRecordingTracer({ ratio, followsParent: true })
  const server = new TestDnsServer({ tracer, servingThreads: 1, resolver: { targets: [upstream.target] } })
  await server.start()
  for (const name of names) assert.ok(await server.ask(makeQuery(name, recordType.A)))
  await server.stop()
  await upstream.stop()
  return { spans, address: `127.0.0.1:${upstream.port}` }
}

test('A query that leaves the node is a trace with a step for the upstream; an answer from the cache is none', async () => {
  const { spans, address } = await served(1, ['www.example.com.', 'www.example.com.'])
  await until('the spans are here', () => spans.length >= 2)
  const [attempt, query] = spans
  assert.equal(spans.length, 2)
  assert.ok(attempt && query)
  assert.deepEqual([query.name, query.kind, query.parent], ['DNS query', 'client', undefined])
  assert.deepEqual(query.attributes, {
    'dns.question.name': 'www.example.com.',
    'dns.question.type': 'A',
    'dns.response_code': 'NOERROR',
  })
  assert.equal(attempt.parent?.spanId, query.context.spanId)
  assert.equal(attempt.attributes['server.address'], address)
  assert.ok(query.startMs <= attempt.startMs && attempt.endMs <= query.endMs)
  assert.ok(Math.abs(query.startMs - Date.now()) < 30_000)
})

test('A query that is not sampled leaves no span', async () => {
  const { spans } = await served(0, ['www.example.com.'])
  assert.deepEqual(spans, [])
})
