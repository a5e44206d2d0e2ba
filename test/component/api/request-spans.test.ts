import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { formatTraceparent } from '../../../src/observe/index.ts'
import type { EndedSpan } from '../../../src/observe/tracing/tracer.ts'
import { startTestServer, testToken, type WatchLine } from '../../helpers/api-server.ts'
import { createRecordingTracer } from '../../helpers/recording-tracer.ts'

const path = '/api/v1/namespaces/default/configmaps'
const client = { traceId: 'a'.repeat(32), spanId: 'b'.repeat(16), isSampled: true }
const traceparent = formatTraceparent(client)

function configMap(name: string) {
  return { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name }, data: { password: 'in-a-body' } }
}

function named(spans: readonly EndedSpan[], name: string): EndedSpan {
  return spans.find((span) => span.name === name) ?? assert.fail(`no span ${name}: ${spans.map((each) => each.name)}`)
}

describe('A traced API server', () => {
  test('makes a span of a write and one of its commit, in the trace of the client', async () => {
    const { tracer, spans } = createRecordingTracer()
    await using server = await startTestServer({ tracer })
    const headers = { traceparent, 'user-agent': 'kubectl/v1.32.0', 'x-secret': 'in-a-header' }
    const reply = await server.call('POST', `${path}?fieldManager=in-a-query`, { body: configMap('a'), headers })
    const [request, commit] = [named(spans, 'create configmaps'), named(spans, 'store commit')]
    assert.equal(request.context.traceId, client.traceId)
    assert.equal(request.parent?.spanId, client.spanId)
    assert.deepEqual(request.attributes, {
      'http.request.method': 'POST',
      'user_agent.original': 'kubectl/v1.32.0',
      'enduser.id': 'tester',
      'platnet.verb': 'create',
      'platnet.group': '',
      'platnet.resource': 'configmaps',
      'platnet.namespace': 'default',
      'http.response.status_code': 201,
    })
    assert.equal(commit.parent?.spanId, request.context.spanId)
    assert.equal(commit.attributes['platnet.revision'], reply.body.metadata.resourceVersion)
    assert.ok(request.startMs <= commit.startMs && commit.endMs <= request.endMs)
    assert.doesNotMatch(JSON.stringify(spans), new RegExp(`in-a-|${testToken}`))
  })

  test('says the code of a refused request, and which commit met another writer', async () => {
    const { tracer, spans } = createRecordingTracer()
    await using server = await startTestServer({ tracer })
    await server.call('GET', `${path}/missing`)
    const read = named(spans, 'get configmaps')
    assert.equal(read.attributes['http.response.status_code'], 404)
    assert.equal(read.attributes['platnet.name'], 'missing')
    assert.equal(read.error, undefined)
    assert.equal(read.parent, undefined)
  })

  test('lets no anonymous client choose its trace', async () => {
    const { tracer, spans } = createRecordingTracer({ ratio: 0, followsParent: true })
    await using server = await startTestServer({ tracer })
    assert.equal((await server.call('GET', path, { token: null, headers: { traceparent } })).code, 401)
    assert.deepEqual(spans, [])
    await server.call('GET', path, { headers: { traceparent } })
    assert.equal(spans.length, 1)
  })

  test('answers a hostile traceparent like none', async () => {
    const { tracer, spans } = createRecordingTracer()
    await using server = await startTestServer({ tracer })
    for (const hostile of ['00-0-0-0', `00-${'0'.repeat(32)}-${'b'.repeat(16)}-01`, 'x'.repeat(8000)])
      assert.equal((await server.call('GET', path, { headers: { traceparent: hostile } })).code, 200)
    assert.deepEqual(
      spans.map(({ parent }) => parent),
      [undefined, undefined, undefined],
    )
  })

  test('makes none of health, metrics and watches', async () => {
    const { tracer, spans } = createRecordingTracer()
    await using server = await startTestServer({ tracer })
    for (const page of ['/healthz', '/metrics', '/version', '/api']) await server.call('GET', page)
    for await (const _ of server.watch(`${path}?watch=true&timeoutSeconds=1`));
    assert.deepEqual(spans, [])
  })
})

describe('A watch', () => {
  /** The events of a ConfigMap that is made by a traced and one that is made by an untraced request. */
  async function eventsOf(query: string, headers: Readonly<Record<string, string>> = {}) {
    const { tracer, spans } = createRecordingTracer({ ratio: 0, followsParent: true })
    await using server = await startTestServer({ tracer })
    await server.call('POST', path, { body: configMap('before'), headers: { traceparent } })
    const { metadata } = (await server.call('GET', path)).body
    const events: (WatchLine & { readonly traceparent?: string })[] = []
    const since = Number(metadata.resourceVersion) - 1
    const watch = server.watch(`${path}?watch=true&resourceVersion=${since}&${query}`, headers)
    await server.call('POST', path, { body: configMap('traced'), headers: { traceparent } })
    await server.call('POST', path, { body: configMap('untraced') })
    for await (const event of watch) if (events.push(event) === 3) break
    const commits = spans.filter(({ name }) => name === 'store commit').map(({ context }) => formatTraceparent(context))
    return { events, commits }
  }

  test('tells a client that asks for it where each traced change is in its trace, past changes included', async () => {
    const { events, commits } = await eventsOf('sendTraceparents=true')
    assert.equal(commits.length, 2)
    assert.deepEqual(
      events.map((event) => event.traceparent),
      [...commits, undefined],
    )
    assert.deepEqual(Object.keys(events[0] ?? {}), ['type', 'traceparent', 'object'])
  })

  test('tells other clients nothing, and objects are alike', async () => {
    const [plain, traced] = [await eventsOf(''), await eventsOf('sendTraceparents=true')]
    assert.ok(plain.events.every((event) => !('traceparent' in event)))
    const names = (events: readonly WatchLine[]) => events.map(({ object }) => object.metadata.name)
    assert.deepEqual(names(plain.events), names(traced.events))
    assert.ok(plain.events.every(({ object }) => !JSON.stringify(object).includes('a'.repeat(32))))
  })

  test('of metadata alone carries it as well, and a table does not break', async () => {
    const accept = 'application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1'
    const { events, commits } = await eventsOf('sendTraceparents=true', { accept })
    assert.equal(events[0]?.object.kind, 'PartialObjectMetadata')
    assert.equal(events[0]?.traceparent, commits[0])
    const table = await eventsOf('sendTraceparents=true', { accept: 'application/json;as=Table;g=meta.k8s.io;v=v1' })
    assert.equal(table.events[0]?.object.kind, 'Table')
  })
})
