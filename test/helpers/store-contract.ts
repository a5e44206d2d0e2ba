import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Store, StoreEvent, StoreWrite } from '../../src/api/store/index.ts'

export const put = (key: string, value: string, expectedRevision = 0): StoreWrite => ({
  kind: 'put',
  key,
  value,
  expectedRevision,
})
export const remove = (key: string, expectedRevision: number): StoreWrite => ({ kind: 'delete', key, expectedRevision })

function describeEvent(event: StoreEvent): string {
  if (event.kind === 'delete') return `${event.revision} delete ${event.key} was ${event.previous.value}`
  return `${event.entry.revision} put ${event.entry.key}=${event.entry.value} was ${event.previous?.value}`
}

export function record(store: Store, prefix: string, afterRevision: number) {
  const seen: string[] = []
  const watch = store.watch(prefix, afterRevision, (events) => seen.push(events.map(describeEvent).join(', ')))
  return { seen, watch }
}

async function keysOf(store: Store, prefix: string, options?: Parameters<Store['range']>[1]): Promise<string[]> {
  const { entries } = await store.range(prefix, options)
  return entries.map((entry) => `${entry.key}=${entry.value}`)
}

/** Declares the tests that every store passes: an empty one at revision 1, opened for each test. */
export function describeStore(name: string, open: (test: TestContext) => Promise<Store>): void {
  describe(name, () => {
    it('stands at revision 1 when it is empty, and adds one per commit', async (t) => {
      const store = await open(t)
      assert.equal(store.revision, 1)
      assert.deepEqual(await store.commit([put('/a', '1')]), { kind: 'committed', revision: 2 })
      assert.deepEqual(await store.commit([put('/b', '1')]), { kind: 'committed', revision: 3 })
      assert.equal(store.revision, 3)
      assert.equal(store.failure, undefined)
    })

    it('keeps the revision at which a key was made, until the key is deleted', async (t) => {
      const store = await open(t)
      await store.commit([put('/a', '1')])
      await store.commit([put('/a', '2', 2)])
      assert.deepEqual(await store.get('/a'), { key: '/a', value: '2', createRevision: 2, revision: 3 })
      await store.commit([remove('/a', 3)])
      assert.equal(await store.get('/a'), undefined)
      await store.commit([put('/a', '3')])
      assert.deepEqual(await store.get('/a'), { key: '/a', value: '3', createRevision: 5, revision: 5 })
    })

    it('refuses a commit whose expectation does not hold and shows what stands there', async (t) => {
      const store = await open(t)
      await store.commit([put('/a', '1')])
      const current = { key: '/a', value: '1', createRevision: 2, revision: 2 }
      assert.deepEqual(await store.commit([put('/a', '2')]), { kind: 'conflict', key: '/a', current })
      assert.deepEqual(await store.commit([put('/a', '2', 7)]), { kind: 'conflict', key: '/a', current })
      assert.deepEqual(await store.commit([remove('/b', 2)]), { kind: 'conflict', key: '/b', current: undefined })
      assert.equal(store.revision, 2)
    })

    it('writes all of a commit at one revision, or nothing', async (t) => {
      const store = await open(t)
      await store.commit([put('/a', '1')])
      assert.equal((await store.commit([put('/b', '1'), put('/a', '2', 9), put('/c', '1')])).kind, 'conflict')
      assert.deepEqual(await keysOf(store, '/'), ['/a=1'])
      const { seen } = record(store, '/', 2)
      await store.commit([put('/b', '1'), remove('/a', 2), put('/c', '1')])
      assert.deepEqual(await keysOf(store, '/'), ['/b=1', '/c=1'])
      assert.deepEqual(seen, ['3 put /b=1 was undefined, 3 delete /a was 1, 3 put /c=1 was undefined'])
    })

    it('lets one of many concurrent writers of a key win, and tells the others once the winner can be read', async (t) => {
      const store = await open(t)
      const results = await Promise.all(
        Array.from({ length: 20 }, async (_, index) => {
          const result = await store.commit([put('/a', `${index}`)])
          return { kind: result.kind, readable: (await store.get('/a'))?.value }
        }),
      )
      assert.equal(results.filter(({ kind }) => kind === 'committed').length, 1)
      assert.equal(new Set(results.map(({ readable }) => readable)).size, 1)
    })

    it('lists a prefix in key order, in pages', async (t) => {
      const store = await open(t)
      for (const key of ['/p/b', '/p/a', '/q/a', '/p/c', '/o/z', '/p']) await store.commit([put(key, '1')])
      assert.deepEqual(await keysOf(store, '/p/'), ['/p/a=1', '/p/b=1', '/p/c=1'])
      const first = await store.range('/p/', { limit: 2 })
      assert.deepEqual([first.entries.map(({ key }) => key), first.more, first.revision], [['/p/a', '/p/b'], true, 7])
      const second = await store.range('/p/', { limit: 2, after: '/p/b' })
      assert.deepEqual([second.entries.map(({ key }) => key), second.more], [['/p/c'], false])
      assert.equal((await store.range('/p/', { limit: 3 })).more, false)
      assert.deepEqual(await keysOf(store, '/p/', { after: '/o' }), ['/p/a=1', '/p/b=1', '/p/c=1'])
      assert.deepEqual(await keysOf(store, '/none/'), [])
    })

    it('reads the past as it was', async (t) => {
      const store = await open(t)
      await store.commit([put('/a', '1')])
      await store.commit([put('/b', '1'), put('/a', '2', 2)])
      await store.commit([remove('/a', 3)])
      await store.commit([put('/a', '3')])
      assert.deepEqual(await keysOf(store, '/', { atRevision: 1 }), [])
      assert.deepEqual(await keysOf(store, '/', { atRevision: 2 }), ['/a=1'])
      assert.deepEqual(await keysOf(store, '/', { atRevision: 3 }), ['/a=2', '/b=1'])
      assert.deepEqual(await keysOf(store, '/', { atRevision: 4 }), ['/b=1'])
      assert.deepEqual(await keysOf(store, '/', { atRevision: 5 }), ['/a=3', '/b=1'])
      assert.equal((await store.range('/', { atRevision: 3, limit: 1 })).revision, 3)
      await assert.rejects(store.range('/', { atRevision: 6 }), { code: 'future-revision' })
    })

    it('replays a watch from the past and goes on live, each commit once and in order', async (t) => {
      const store = await open(t)
      await store.commit([put('/a/1', '1')])
      await store.commit([put('/b/1', '1')])
      const early = record(store, '/a/', 0)
      const late = record(store, '/a/', 3)
      assert.deepEqual(early.seen, [], 'the replay begins after the call')
      await store.commit([put('/a/2', '2')])
      await store.commit([remove('/a/1', 2)])
      assert.deepEqual(early.seen, ['2 put /a/1=1 was undefined', '4 put /a/2=2 was undefined', '5 delete /a/1 was 1'])
      assert.deepEqual(late.seen, early.seen.slice(1))
      assert.deepEqual([early.watch.revision, late.watch.revision], [5, 5])
    })

    it('replays a long history without a gap while commits go on, and says how far it has got', async (t) => {
      const store = await open(t)
      await Promise.all(Array.from({ length: 1200 }, (_, index) => store.commit([put(`/a/${index}`, '1')])))
      const revisions: number[] = []
      const watch = store.watch('/a/', 1, (events) => {
        for (const event of events) if (event.kind === 'put') revisions.push(event.entry.revision)
      })
      await store.commit([put('/a/last', '1')])
      assert.ok(watch.revision <= store.revision)
      while (watch.revision < store.revision) await nextTurn()
      const stored = (await store.range('/a/')).entries.map(({ revision }) => revision)
      assert.equal(stored.length, 1201)
      assert.deepEqual(
        revisions,
        stored.toSorted((a, b) => a - b),
      )
    })

    it('refuses a watch from the future, as it refuses to read there', async (t) => {
      const store = await open(t)
      assert.throws(() => store.watch('/', 2, () => {}), { code: 'future-revision' })
    })

    it('counts what a range would hold', async (t) => {
      const store = await open(t)
      for (const key of ['/p/a', '/p/b', '/p/c', '/q/a']) await store.commit([put(key, '1')])
      await store.commit([remove('/p/b', 3)])
      const counts = [store.count('/p/'), store.count('/p/', { after: '/p/a' }), store.count('/p/', { atRevision: 5 })]
      assert.deepEqual(await Promise.all(counts), [2, 1, 3])
      await assert.rejects(store.count('/', { atRevision: 9 }), { code: 'future-revision' })
    })

    it('shows the newest change of a collection, also after its last key and the history are gone', async (t) => {
      const store = await open(t)
      const atFirst = store.changedAt('/r/pods/')
      assert.ok(atFirst <= 1)
      await store.commit([put('/r/pods/a', '1'), put('/r/nodes/a', '1')])
      assert.equal(store.changedAt('/r/pods/'), 2)
      await store.commit([put('/r/pods/a', '2', 2)])
      assert.deepEqual([store.changedAt('/r/pods/'), store.changedAt('/r/nodes/')], [3, 2])
      await store.commit([remove('/r/pods/a', 3)])
      await store.compact(4)
      assert.equal(store.changedAt('/r/pods/'), 4)
      assert.equal(store.changedAt('/r/services/'), atFirst)
    })

    it('stops calling a watch once it is closed, also from within its own listener', async (t) => {
      const store = await open(t)
      let calls = 0
      const watch = store.watch('/', 0, () => {
        calls++
        watch.close()
      })
      await store.commit([put('/a', '1')])
      await store.commit([put('/b', '1')])
      assert.equal(calls, 1)
    })

    it('forgets history up to the compact revision and keeps the state', async (t) => {
      const store = await open(t)
      await store.commit([put('/a', '1'), put('/b', '1')])
      await store.commit([put('/a', '2', 2)])
      await store.commit([remove('/b', 2)])
      await store.commit([put('/a', '3', 3)])
      await store.compact(4)
      assert.equal(store.compactRevision, 4)
      assert.deepEqual(await keysOf(store, '/', { atRevision: 4 }), ['/a=2'])
      assert.deepEqual(await keysOf(store, '/'), ['/a=3'])
      await assert.rejects(store.range('/', { atRevision: 3 }), { code: 'compacted' })
      assert.throws(() => store.watch('/', 3, () => {}), { code: 'compacted' })
      const { seen } = record(store, '/', 4)
      await nextTurn()
      assert.deepEqual(seen, ['5 put /a=3 was 2'])
    })

    it('takes an older compact revision for done and refuses one from the future', async (t) => {
      const store = await open(t)
      await store.commit([put('/a', '1')])
      await store.compact(2)
      await store.compact(1)
      assert.equal(store.compactRevision, 2)
      await assert.rejects(store.compact(store.revision + 1), { code: 'future-revision' })
    })

    it('refuses writes that make no sense, with the key in the error', async (t) => {
      const store = await open(t)
      const refused: [StoreWrite[], string | undefined][] = [
        [[], undefined],
        [[put('', '1')], 'key '],
        [[put('/a', '1'), put('/a', '2')], 'key /a'],
        [[remove('/a', 0)], 'key /a'],
        [[put('/a', '1', -1)], 'key /a'],
        [[put('/a', '1', 0.5)], 'key /a'],
        [[put('/\ud800', '1')], 'key /\ufffd'],
        [[put('/a', '\udc00')], 'key /a'],
      ]
      for (const [writes, object] of refused)
        await assert.rejects(store.commit(writes), { code: 'invalid-write', object })
      assert.equal(store.revision, 1)
    })

    it('finishes what was asked before it closes, and refuses what comes after', async (t) => {
      const store = await open(t)
      const pending = store.commit([put('/a', '1')])
      await Promise.all([store.close(), store.close()])
      assert.deepEqual(await pending, { kind: 'committed', revision: 2 })
      await assert.rejects(store.commit([put('/b', '1')]), { code: 'store-closed' })
    })
  })
}
