import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { openMemoryStore, type StoreEvent, type Topic } from '../../../../src/api/store/index.ts'
import { WatchIndex } from '../../../../src/api/store/watch-index.ts'
import { silentLogger } from '../../../../src/observe/index.ts'

const put = (key: string, value: string, expectedRevision = 0) =>
  ({ kind: 'put', key, value, expectedRevision }) as const

interface Watch {
  readonly prefix: string
  readonly topic: Topic | undefined
}

/** Values are their topics, with a comma between them. */
function topicsOf(event: StoreEvent): readonly string[] {
  const values = [event.kind === 'put' ? event.entry.value : '', event.previous?.value ?? '']
  return values.flatMap((value) => value.split(','))
}

describe('watches of topics', () => {
  test('an event is parsed once and delivered to the watches of its present and earlier topics', async () => {
    const store = openMemoryStore({ log: silentLogger })
    const received = new Map<string, number[]>()
    let reads = 0
    const of: Topic['of'] = (event) => {
      reads += 1
      return topicsOf(event)
    }
    const watch = (name: string) =>
      store.watch(
        '/pods/',
        store.revision,
        (events) => received.set(name, [...(received.get(name) ?? []), events.length]),
        {
          topic: { of, name },
        },
      )
    const watches = Array.from({ length: 100 }, (_, index) => watch(`n${index}`))
    await Promise.resolve()
    await store.commit([put('/pods/a', 'n7')])
    await store.commit([put('/pods/a', 'n8', store.revision), put('/pods/b', 'n8'), put('/nodes/c', 'n7')])
    await store.commit([put('/nodes/d', 'n9')])
    assert.deepEqual(Object.fromEntries(received), { n7: [1, 1], n8: [2] })
    assert.equal(reads, 3)
    // Watches without an event are at the same revision as the others: their bookmarks show it.
    assert.deepEqual(new Set(watches.map(({ revision }) => revision)), new Set([store.revision]))
    for (const each of watches) each.close()
    await store.commit([put('/pods/e', 'n7')])
    assert.equal(received.get('n7')?.length, 2)
    await store.close()
  })

  test('an event whose topics cannot be read is delivered to all', async () => {
    const store = openMemoryStore({ log: silentLogger })
    const received: string[] = []
    const of = () => {
      throw new Error('unreadable')
    }
    for (const name of ['a', 'b']) store.watch('/', store.revision, () => received.push(name), { topic: { of, name } })
    await Promise.resolve()
    await store.commit([put('/x', 'a')])
    assert.deepEqual(received, ['a', 'b'])
    await store.close()
  })

  test('the index finds after any changes what a look at all watches finds', () => {
    const anyWatch = fc
      .record({
        prefix: fc.constantFrom('/', '/a/', '/a/b', '/a/b/', '/c/'),
        name: fc.constantFrom(undefined, 'x', 'y'),
      })
      .map(({ prefix, name }): Watch => ({ prefix, topic: name === undefined ? undefined : { of: topicsOf, name } }))
    const anyEvent = fc.record({
      key: fc.constantFrom('/a/b', '/a/b/c', '/a/d', '/c/e'),
      value: fc.constantFrom('x', 'y', 'x,y', 'z'),
    })
    const steps = fc.array(fc.tuple(anyWatch, fc.boolean()), { maxLength: 12 })
    fc.assert(
      fc.property(steps, fc.array(anyEvent, { maxLength: 4 }), (changes, events) => {
        const index = new WatchIndex<Watch>()
        const watches: Watch[] = []
        for (const [watch, leaves] of changes) {
          index.add(watch)
          watches.push(watch)
          const gone = leaves ? watches.shift() : undefined
          if (gone !== undefined) index.delete(gone)
        }
        for (const { key, value } of events) {
          const entry = { key, value, revision: 1, createRevision: 1 }
          const event: StoreEvent = { kind: 'put', entry, previous: undefined }
          const isMeant = ({ prefix, topic }: Watch) =>
            key.startsWith(prefix) && (topic === undefined || topicsOf(event).includes(topic.name))
          assert.deepEqual(index.watchesOf(event), new Set(watches.filter(isMeant)))
        }
      }),
    )
  })
})
