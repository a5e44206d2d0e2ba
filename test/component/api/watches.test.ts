import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { connect } from 'node:tls'
import { startTestServer, type TestServer, take, testToken, type WatchLine } from '../../helpers/api-server.ts'
import { configMap, paths } from '../../helpers/manifests.ts'

const mergePatch = { 'content-type': 'application/merge-patch+json' }

describe('watches', () => {
  let server: TestServer
  let folder: string
  let collection: string
  let counter = 0
  before(async () => {
    server = await startTestServer()
  })
  after(() => server.stop())

  /** Each test has a namespace of its own. */
  const newNamespace = async () => {
    folder = `watch-${counter++}`
    await server.call('POST', '/api/v1/namespaces', { body: { metadata: { name: folder } } })
    collection = `/api/v1/namespaces/${folder}/configmaps`
  }
  const create = (name: string, labels?: Record<string, string>) =>
    server.call('POST', collection, { body: configMap(name, {}, labels) })
  const patch = (name: string, body: unknown) =>
    server.call('PATCH', `${collection}/${name}`, { body, headers: mergePatch })
  const brief = (lines: readonly WatchLine[]) => lines.map(({ type, object }) => `${type} ${object.metadata.name}`)

  test('without a resourceVersion the present comes first, then every change once', async () => {
    await newNamespace()
    await create('a')
    await create('b')
    const events = server.watch(`${collection}?watch=true`)
    assert.deepEqual(brief(await take(events, 2)), ['ADDED a', 'ADDED b'])
    await create('c')
    await patch('a', { data: { x: '1' } })
    const deleted = await server.call('DELETE', `${collection}/b`)
    assert.equal(deleted.code, 200)
    const changes = await take(events, 3)
    assert.deepEqual(brief(changes), ['ADDED c', 'MODIFIED a', 'DELETED b'])
    const revisions = changes.map(({ object }) => Number(object.metadata.resourceVersion))
    assert.deepEqual(
      revisions,
      revisions.toSorted((x, y) => x - y),
    )
    assert.equal(changes[2]?.object.metadata.resourceVersion, String(server.store.revision))
    await events.return(undefined)
  })

  test('from a resourceVersion only what came after it', async () => {
    await newNamespace()
    const first = await create('a')
    await create('b')
    const from = first.body.metadata.resourceVersion
    const events = server.watch(`${collection}?watch=1&resourceVersion=${from}`)
    assert.deepEqual(brief(await take(events, 1)), ['ADDED b'])
    await create('c')
    assert.deepEqual(brief(await take(events, 1)), ['ADDED c'])
    await events.return(undefined)
  })

  test('an object that begins to match is added, one that stops is deleted with its last matching content', async () => {
    await newNamespace()
    await create('a', { tier: 'front' })
    await create('b')
    const events = server.watch(`${collection}?watch=1&labelSelector=tier%3Dfront`)
    assert.deepEqual(brief(await take(events, 1)), ['ADDED a'])
    await patch('b', { metadata: { labels: { tier: 'front' } } })
    await patch('b', { data: { x: '1' } })
    await patch('a', { metadata: { labels: { tier: 'back' } } })
    await patch('a', { data: { unseen: 'x' } })
    await server.call('DELETE', `${collection}/b`)
    const changes = await take(events, 4)
    assert.deepEqual(brief(changes), ['ADDED b', 'MODIFIED b', 'DELETED a', 'DELETED b'])
    assert.equal(changes[2]?.object.metadata.labels.tier, 'front')
    await events.return(undefined)
  })

  test('a path below watch/ is a watch of what follows, and of nothing else', async () => {
    await newNamespace()
    const below = collection.replace('/api/v1/', '/api/v1/watch/')
    const [all, one] = [server.watch(below), server.watch(`${below}/two`)]
    await create('one')
    await create('two')
    assert.deepEqual(brief(await take(all, 2)), ['ADDED one', 'ADDED two'])
    assert.deepEqual(brief(await take(one, 1)), ['ADDED two'])
    const refused = await server.call('POST', below, { body: configMap('three', {}) })
    assert.equal(refused.code, 405)
    for (const events of [all, one]) await events.return(undefined)
  })

  test('a field selector and the watch of one name see that object only', async () => {
    await newNamespace()
    const events = server.watch(`${collection}/one?watch=true`)
    await create('other')
    await create('one')
    assert.deepEqual(brief(await take(events, 1)), ['ADDED one'])
    await events.return(undefined)
  })

  test('a watch-list ends its beginning with the annotated bookmark', async () => {
    await newNamespace()
    await create('a')
    const query = 'watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true'
    const events = server.watch(`${collection}?${query}`)
    const [added, bookmark] = await take(events, 2)
    assert.equal(added?.type, 'ADDED')
    assert.deepEqual(bookmark, {
      type: 'BOOKMARK',
      object: {
        kind: 'ConfigMap',
        apiVersion: 'v1',
        metadata: {
          resourceVersion: String(server.store.revision),
          annotations: { 'k8s.io/initial-events-end': 'true' },
        },
      },
    })
    await create('b')
    assert.deepEqual(brief(await take(events, 1)), ['ADDED b'])
    await events.return(undefined)
  })

  test('a watch-list may ask for its initial events alone, and for none', async () => {
    await newNamespace()
    const created = await create('a')
    const alone = server.watch(`${collection}?watch=1&sendInitialEvents=true`)
    assert.deepEqual(
      (await take(alone, 2)).map(({ type }) => type),
      ['ADDED', 'BOOKMARK'],
    )
    await alone.return(undefined)
    const none = 'watch=1&sendInitialEvents=false&resourceVersionMatch=NotOlderThan'
    const fromNow = server.watch(`${collection}?${none}`)
    const fromThen = server.watch(`${collection}?${none}&resourceVersion=${created.body.metadata.resourceVersion}`)
    const first = Promise.all([take(fromNow, 1), take(fromThen, 1)])
    const done = first.then(() => true)
    for (let count = 0; !(await Promise.race([done, false])); count++) await create(`later-${count}`)
    assert.deepEqual(
      (await first).flat().filter(({ object }) => !object.metadata.name.startsWith('later-')),
      [],
      'the object that was there before is not an event',
    )
    await Promise.all([fromNow.return(undefined), fromThen.return(undefined)])
  })

  test('watch options that do not go together are a 422', async () => {
    const table: readonly (readonly [query: string, message: RegExp])[] = [
      ['resourceVersionMatch=NotOlderThan', /is forbidden for watch unless sendInitialEvents is provided$/],
      [
        'sendInitialEvents=true&resourceVersionMatch=Exact',
        /Unsupported value: "Exact": supported values: "NotOlderThan"$/,
      ],
      [
        'sendInitialEvents=true&resourceVersionMatch=NotOlderThan&continue=x',
        /is forbidden when continue is provided$/,
      ],
    ]
    for (const [query, message] of table) {
      const reply = await server.call('GET', `${paths.configMaps}?watch=1&${query}`)
      assert.equal(reply.code, 422, query)
      assert.match(reply.body.message, message)
    }
  })

  test('a watch-list not older than a revision of the future is a 504 before it begins', async () => {
    const query =
      'watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&resourceVersion=99999999999999999999'
    assert.equal((await server.call('GET', `${paths.configMaps}?${query}`)).code, 504)
  })

  test('an event is written as text once, however many watch it', async (t) => {
    await newNamespace()
    const watches = Array.from({ length: 40 }, () => server.watch(`${collection}?watch=1&resourceVersion=0`))
    const first = watches.map((events) => take(events, 1))
    await create('starts')
    await Promise.all(first)
    const made = t.mock.method(Buffer, 'from')
    await create('counted')
    assert.deepEqual(
      brief((await Promise.all(watches.map((events) => take(events, 1)))).flat()),
      Array(40).fill('ADDED counted'),
    )
    const lines = made.mock.calls.filter(({ arguments: [text] }) => /^\w+\r\n\{"type":"ADDED"/.test(String(text)))
    assert.equal(lines.length, 1)
    await Promise.all(watches.map((events) => events.return(undefined)))
  })

  test('timeoutSeconds ends the watch cleanly, after a bookmark for who wants one', async () => {
    await newNamespace()
    const [lines, plain] = await Promise.all([
      Array.fromAsync(server.watch(`${collection}?watch=1&timeoutSeconds=1&allowWatchBookmarks=true`)),
      Array.fromAsync(server.watch(`${collection}?watch=1&timeoutSeconds=1`)),
    ])
    assert.deepEqual(lines, [
      {
        type: 'BOOKMARK',
        object: { kind: 'ConfigMap', apiVersion: 'v1', metadata: { resourceVersion: String(server.store.revision) } },
      },
    ])
    assert.deepEqual(plain, [])
  })

  test('a revision that is no longer, or not yet, kept is a 410 in an ERROR event', async () => {
    await newNamespace()
    const created = await create('a')
    await patch('a', { data: { x: '1' } })
    await server.store.compact(server.store.revision)
    for (const revision of [Number(created.body.metadata.resourceVersion) - 1, server.store.revision + 1000]) {
      const lines = await Array.fromAsync(server.watch(`${collection}?watch=1&resourceVersion=${revision}`))
      assert.equal(lines.length, 1)
      assert.equal(lines[0]?.type, 'ERROR')
      assert.equal(lines[0]?.object.code, 410)
      assert.equal(lines[0]?.object.reason, 'Expired')
    }
  })

  test('what cannot be a resourceVersion is a 400', async () => {
    const reply = await server.call('GET', `${paths.configMaps}?watch=1&resourceVersion=abc`)
    assert.deepEqual([reply.code, reply.body.reason], [400, 'BadRequest'])
  })

  test('a Table watch names its columns in the first event only', async () => {
    await newNamespace()
    await create('a')
    const events = server.watch(`${collection}?watch=1&includeObject=Object`, {
      accept: 'application/json;as=Table;v=v1;g=meta.k8s.io',
      authorization: `Bearer ${testToken}`,
    })
    await create('b')
    const [first, second] = await take(events, 2)
    assert.deepEqual(
      first?.object.columnDefinitions.map(({ name }: { name: string }) => name),
      ['Name', 'Data', 'Age'],
    )
    assert.equal(second?.object.columnDefinitions, null)
    assert.equal(second?.object.rows[0].cells[0], 'b')
    assert.equal(second?.object.rows[0].object.kind, 'ConfigMap')
    await events.return(undefined)
  })

  test('a bookmark of a Table watch is a Table of one row', async () => {
    await newNamespace()
    await create('a')
    const query = 'watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true'
    const accept = 'application/json;as=Table;v=v1;g=meta.k8s.io'
    for (const more of ['', '&labelSelector=none%3Dsuch']) {
      const headers = { accept, authorization: `Bearer ${testToken}` }
      const events = server.watch(`${collection}?${query}${more}`, headers)
      const seen = await take(events, more === '' ? 2 : 1)
      const { type, object } = seen.at(-1) ?? {}
      assert.deepEqual([type, object.kind, object.apiVersion], ['BOOKMARK', 'Table', 'meta.k8s.io/v1'])
      assert.deepEqual(
        object.rows.map((row: { object: { metadata: object } }) => row.object.metadata),
        [{ ...object.metadata, annotations: { 'k8s.io/initial-events-end': 'true' } }],
      )
      // The first event names the columns, whatever it is.
      assert.equal(object.columnDefinitions === null, more === '')
      await events.return(undefined)
    }
  })

  test('a watch of metadata alone has no content in any event, bookmarks too', async () => {
    await newNamespace()
    await create('a')
    const events = server.watch(`${collection}?watch=1&sendInitialEvents=true&allowWatchBookmarks=true`, {
      accept: 'application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json',
      authorization: `Bearer ${testToken}`,
    })
    const initial = await take(events, 2)
    await create('b')
    const live = [...(await take(events, 1))]
    await server.call('DELETE', `${collection}/b`)
    live.push(...(await take(events, 1)))
    assert.deepEqual(
      [...initial, ...live].map(({ type, object }) => [type, object.kind, object.apiVersion, object.metadata.name]),
      [
        ['ADDED', 'PartialObjectMetadata', 'meta.k8s.io/v1', 'a'],
        ['BOOKMARK', 'PartialObjectMetadata', 'meta.k8s.io/v1', undefined],
        ['ADDED', 'PartialObjectMetadata', 'meta.k8s.io/v1', 'b'],
        ['DELETED', 'PartialObjectMetadata', 'meta.k8s.io/v1', 'b'],
      ],
    )
    for (const { object } of [...initial, ...live]) assert.equal(object.data, undefined)
    await events.return(undefined)
  })

  test('a reader that comes back after many large changes gets all of them', async () => {
    await newNamespace()
    const body = configMap('large', { blob: 'x'.repeat(50_000) })
    const created = await server.call('POST', collection, { body })
    for (let count = 0; count < 200; count++) await patch('large', { data: { count: String(count) } })
    const from = created.body.metadata.resourceVersion
    const events = server.watch(`${collection}?watch=1&resourceVersion=${from}`)
    const counts = (await take(events, 200)).map(({ object }) => Number(object.data.count))
    assert.deepEqual(counts, [...Array(200).keys()])
    await events.return(undefined)
  })

  test('a reader that does not read is cut off and the others are not', async () => {
    await newNamespace()
    const events = server.watch(`${collection}?watch=1`)
    const stalled = connect({ host: '127.0.0.1', port: server.port, rejectUnauthorized: false })
    await new Promise<void>((resolve) => stalled.once('secureConnect', () => resolve()))
    stalled.write(`GET ${collection}?watch=1 HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${testToken}\r\n\r\n`)
    await new Promise<void>((resolve) => stalled.once('readable', () => resolve()))
    stalled.pause()
    const closed = new Promise<void>((resolve) => stalled.once('close', () => resolve()))
    stalled.on('error', () => {})
    for (let index = 0; index < 24; index++) {
      await server.call('POST', collection, { body: configMap(`big-${index}`, { blob: 'x'.repeat(1_000_000) }) })
    }
    assert.equal((await take(events, 24)).length, 24)
    stalled.resume()
    await closed
    await events.return(undefined)
  })
})

test('a server that stops ends its watches and then takes no more', async () => {
  const server = await startTestServer()
  const events = server.watch(`${paths.configMaps}?watch=1`)
  const ended = Array.fromAsync(events)
  await server.call('POST', paths.configMaps, { body: configMap('a') })
  const startedMs = performance.now()
  await server.stop()
  assert.equal((await ended).length, 1)
  assert.ok(performance.now() - startedMs < 1500, 'stopped without waiting for its deadline')
  await assert.rejects(server.call('GET', '/healthz'))
})
