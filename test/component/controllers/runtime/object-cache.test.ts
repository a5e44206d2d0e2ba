import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { z } from 'zod'
import { ApiClient, accessByServer } from '../../../../src/client/index.ts'
import { metadataSchema } from '../../../../src/controllers/runtime/metadata.ts'
import { ObjectCache } from '../../../../src/controllers/runtime/object-cache.ts'
import { labelTerm, labelTerms } from '../../../../src/controllers/runtime/object-index.ts'
import { keyOf, resourceType } from '../../../../src/controllers/runtime/resource-type.ts'
import { startTestServer } from '../../../helpers/api-server.ts'
import { clientOfServer } from '../../../helpers/controllers.ts'
import { createRecordingLogger } from '../../../helpers/recording-logger.ts'
import { until } from '../../../helpers/until.ts'

const schema = z.object({ metadata: metadataSchema, data: z.record(z.string(), z.string()).optional() })
const configMaps = resourceType('', 'v1', 'configmaps', 'ConfigMap', schema)

function item(name: string, resourceVersion: string, fields: Readonly<Record<string, unknown>> = {}, labels = {}) {
  return { metadata: { name, namespace: 'default', uid: `uid-${name}`, resourceVersion, labels }, ...fields }
}

/** A cache that is fed by hand. */
function createCache() {
  const { log, lines } = createRecordingLogger()
  const client = new ApiClient(accessByServer('http://127.0.0.1:9'))
  const cache = new ObjectCache({ client, type: configMaps, log })
  const notes: string[] = []
  cache.onChange(({ old, next }) => {
    const version = (object: typeof old) => object?.metadata.resourceVersion ?? '-'
    notes.push(`${version(old)}>${version(next)}`)
  })
  return { cache, notes, lines }
}

function keys(objects: Iterable<{ metadata: { name: string; namespace?: string | undefined } }>): string[] {
  return Array.from(objects, keyOf).sort()
}

describe('an object cache', () => {
  test('holds what was listed and what changed since, and tells of each change once', async () => {
    const { cache, notes } = createCache()
    assert.equal(cache.hasSynced, false)
    await cache.onReplace([item('a', '1'), item('b', '2')], '5')
    assert.equal(cache.hasSynced, true)
    cache.onEvent('ADDED', item('c', '6'), '6')
    cache.onEvent('MODIFIED', item('a', '7'), '7')
    cache.onEvent('DELETED', item('b', '8'), '8')
    assert.deepEqual(keys(cache.list()), ['default/a', 'default/c'])
    assert.deepEqual(notes, ['->1', '->2', '->6', '1>7', '2>-'])
  })

  test('keeps what it knows of an object that the list leaves out, and tells of the others where a handler fails over one', async () => {
    const { cache, lines } = createCache()
    await cache.onReplace([item('a', '1'), item('b', '2'), item('c', '3')], '5')
    const seen: string[] = []
    cache.onChange(({ next }) => {
      if (next?.metadata.name === 'bad') throw new TypeError('not this one')
      if (next !== undefined) seen.push(next.metadata.name)
    })
    seen.length = 0
    const leftOut = { name: 'a', namespace: 'default', resourceVersion: '6' }
    await cache.onReplace([item('bad', '7'), item('c', '8')], '9', [leftOut])
    assert.deepEqual(keys(cache.list()), ['default/a', 'default/bad', 'default/c'])
    assert.deepEqual(seen, ['c'])
    assert.ok(lines.includes('warn an object could not be put into the cache'))
  })

  test('of a type that names nothing else only the metadata is sent', async () => {
    await using server = await startTestServer()
    const maps = '/api/v1/namespaces/default/configmaps'
    const whole = z.looseObject({ metadata: metadataSchema })
    const type = resourceType('', 'v1', 'configmaps', 'ConfigMap', whole)
    const { log } = createRecordingLogger()
    const cache = new ObjectCache({ client: clientOfServer(server), type, content: 'metadata', log })
    const create = (name: string) => server.call('POST', maps, { body: { metadata: { name }, data: { a: 'b' } } })
    await create('listed')
    await cache.start({ signal: AbortSignal.timeout(30_000) })
    await create('watched')
    await until('the watch tells', () => cache.get('default/watched') !== undefined)
    for (const name of ['listed', 'watched']) assert.equal(cache.get(`default/${name}`)?.['data'], undefined)
    await cache.stop()
  })

  test('a new handler hears of everything there is', async () => {
    const { cache } = createCache()
    await cache.onReplace([item('a', '1')], '5')
    const heard: string[] = []
    const end = cache.onChange(({ next }) => heard.push(next?.metadata.name ?? ''))
    end()
    cache.onEvent('ADDED', item('b', '6'), '6')
    assert.deepEqual(heard, ['a'])
  })

  test('a write of ours is there at once; what the watch says of it later is old news', async () => {
    const { cache, notes } = createCache()
    await cache.onReplace([item('a', '1')], '5')
    cache.note(item('a', '9'))
    cache.onEvent('MODIFIED', item('a', '7'), '7')
    cache.onEvent('MODIFIED', item('a', '9'), '9')
    assert.equal(cache.get('default/a')?.metadata.resourceVersion, '9')
    assert.deepEqual(notes, ['->1', '1>9'])
  })

  test('an answer that the watch was faster than brings nothing back', async () => {
    const { cache } = createCache()
    await cache.onReplace([], '5')
    cache.onEvent('ADDED', item('a', '6'), '6')
    cache.onEvent('DELETED', item('a', '7'), '7')
    cache.note(item('a', '6'))
    assert.equal(cache.get('default/a'), undefined)
  })

  test('a write of ours that takes the last finalizer of a deleted object does not keep it: its answer has the version of the deletion', async () => {
    const { cache } = createCache()
    await cache.onReplace([item('a', '1')], '5')
    cache.note(item('a', '9'))
    cache.onEvent('DELETED', item('a', '9'), '9')
    assert.deepEqual(keys(cache.list()), [])
  })

  test('a deletion of the former object of a name does not touch the one we just made', async () => {
    const { cache } = createCache()
    await cache.onReplace([item('a', '1')], '5')
    cache.note(item('a', '9'))
    cache.onEvent('DELETED', item('a', '8'), '8')
    assert.equal(cache.get('default/a')?.metadata.resourceVersion, '9')
  })

  test('a new list removes what is gone but not what is newer than the list', async () => {
    const { cache } = createCache()
    await cache.onReplace([item('a', '1'), item('b', '2')], '5')
    cache.note(item('c', '12'))
    await cache.onReplace([item('b', '2')], '10')
    assert.deepEqual(keys(cache.list()), ['default/b', 'default/c'])
  })

  test('an object could not be parsed and is left out, also when it was readable before', async () => {
    const { cache, lines } = createCache()
    await cache.onReplace([item('a', '1'), item('b', '2', { data: { port: 80 } })], '5')
    assert.deepEqual(keys(cache.list()), ['default/a'])
    cache.onEvent('MODIFIED', item('a', '6', { data: 'none' }), '6')
    assert.equal(cache.size, 0)
    assert.deepEqual(lines, Array(2).fill('warn an object could not be parsed and is left out'))
  })

  test('an index follows the labels', async () => {
    const { cache } = createCache()
    await cache.onReplace([item('a', '1', {}, { app: 'web' })], '5')
    const byLabel = cache.addIndex(labelTerms)
    const web = () => keys(byLabel.get(labelTerm('default', 'app', 'web')))
    assert.deepEqual(web(), ['default/a'])
    cache.onEvent('ADDED', item('b', '6', {}, { app: 'web' }), '6')
    assert.equal(byLabel.count(labelTerm('default', 'app', 'web')), 2)
    cache.onEvent('MODIFIED', item('a', '7', {}, { app: 'db' }), '7')
    assert.deepEqual(web(), ['default/b'])
    cache.onEvent('DELETED', item('b', '8', {}, { app: 'web' }), '8')
    assert.deepEqual(web(), [])
  })
})
