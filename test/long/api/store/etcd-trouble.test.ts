import assert from 'node:assert/strict'
import { join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { openEtcdStore } from '../../../../src/api/store/etcd/open-etcd-store.ts'
import type { Store } from '../../../../src/api/store/index.ts'
import { silentLogger } from '../../../../src/observe/logger.ts'
import { EtcdCluster, etcdLack } from '../../../helpers/etcd.ts'
import { put, record, remove } from '../../../helpers/store-contract.ts'
import { makeTemporaryFolder } from '../../../helpers/temporary-folder.ts'
import { until, untilAsync } from '../../../helpers/until.ts'

async function open(t: TestContext, etcd: EtcdCluster): Promise<Store> {
  const connection = { servers: etcd.servers }
  const place = { prefix: '/platnet', dialect: 'platform', authority: 'one' } as const
  const store = await openEtcdStore({ connection, ...place, log: silentLogger, patienceMs: 5_000 })
  t.after(() => store.close())
  return store
}

const isCommitted = (store: Store, key: string) =>
  store.commit([put(key, 'small')]).then(
    ({ kind }) => kind === 'committed',
    () => false,
  )

describe('the store in an etcd in trouble', { skip: etcdLack ?? false }, () => {
  it('without space: refuses puts, deletes, forgets history there, and goes on once there is room', async (t) => {
    await using etcd = await EtcdCluster.start({ flags: ['--quota-backend-bytes', String(2 * 1024 * 1024)] })
    const store = await open(t, etcd)
    const { seen } = record(store, '/', store.revision)
    const value = 'x'.repeat(200_000)
    const refusal = await (async () => {
      for (let index = 0; ; index++) {
        try {
          const key = `/k/${index % 2}`
          await store.commit([put(key, value, (await store.get(key))?.revision ?? 0)])
        } catch (thrown) {
          return thrown as { code: string; remedy: string }
        }
      }
    })()
    assert.equal(refusal.code, 'store-full')
    assert.match(refusal.remedy, /etcdctl alarm disarm/)
    assert.equal(store.failure?.code, 'store-full')
    const before = seen.length
    assert.ok(before >= 5, `${before} puts were taken`)

    const first = await store.get('/k/0')
    assert.equal((await store.commit([remove('/k/0', first?.revision ?? 0)])).kind, 'committed')
    assert.equal((await store.commit([remove('/k/0', first?.revision ?? 0)])).kind, 'conflict')
    assert.equal(await store.get('/k/0'), undefined)
    assert.equal(seen.length, before + 1, 'watchers see the deletion')
    assert.equal(store.failure?.code, 'store-full', 'puts are refused still')

    await store.compact(store.revision)
    const old = etcd.etcdctl(['get', '/platnet/k/0', `--rev=${first?.revision}`])
    assert.notEqual(old.status, 0, 'etcd has forgotten the old versions')
    for (const words of [['defrag'], ['alarm', 'disarm']]) assert.equal(etcd.etcdctl(words).status, 0, words.join(' '))
    await untilAsync('puts are taken again', () => isCommitted(store, '/after'))
    assert.equal(store.failure, undefined)
  })

  it('restored from a snapshot under it: says so, acknowledges nothing, and a new start goes on', async (t) => {
    const snapshot = join(makeTemporaryFolder(t), 'snapshot.db')
    await using etcd = await EtcdCluster.start()
    const store = await open(t, etcd)
    await store.commit([put('/kept', '1')])
    assert.equal(etcd.etcdctl(['snapshot', 'save', snapshot]).status, 0)
    for (let index = 0; index < 5; index++) await store.commit([put(`/lost/${index}`, '1')])
    await etcd.restore(snapshot)
    await untilAsync('the server knows', async () => {
      assert.ok(!(await isCommitted(store, '/probe')), 'a write was acknowledged')
      return store.failure?.code === 'store-failed'
    })
    await assert.rejects(store.commit([put('/new', '1')]), {
      code: 'store-failed',
      message: /etcd is at revision \d+, this server has seen \d+/,
      remedy: /restart all servers/,
    })
    await assert.rejects(async () => store.catchUp(), { code: 'store-failed' })
    assert.equal((await store.get('/kept'))?.value, '1', 'reads of what it has go on')
    await store.close()
    const next = await open(t, etcd)
    assert.equal((await next.get('/kept'))?.value, '1')
    assert.equal(await next.get('/lost/0'), undefined)
    assert.equal((await next.commit([put('/new', '2')])).kind, 'committed')
  })

  it('that compacts all history again and again while watchers are slow: none misses or repeats a change', async (t) => {
    await using etcd = await EtcdCluster.start()
    const store = await open(t, etcd)
    const start = store.revision
    const { seen: quick } = record(store, '/', start)
    const slow: number[] = []
    let ended = 0
    const follow = (after: number) =>
      store.watch(
        '/',
        after,
        async (events) => {
          for (const event of events) slow.push(event.kind === 'put' ? event.entry.revision : event.revision)
          await new Promise((resolve) => setTimeout(resolve, 5))
        },
        { onBehind: () => ended++ },
      )
    for (let index = 0; index < 50; index++) await store.commit([put(`/k/${index}`, '1')])
    follow(start)
    for (let index = 50; index < 100; index++) {
      await store.commit([put(`/k/${index}`, '1')])
      if (index % 10 === 0) assert.equal(etcd.etcdctl(['compact', String(store.revision)]).status, 0)
    }
    await until('the slow watcher has all', () => slow.length === 100 || ended > 0)
    assert.equal(ended, 0, 'history in memory is not that of etcd')
    assert.deepEqual(
      slow,
      [...new Set(slow)].sort((one, other) => one - other),
    )
    assert.equal(quick.length, 100)
  })

  it('beside a server whose clock is a day ahead, which takes away its fence: goes on, each write once', async (t) => {
    await using etcd = await EtcdCluster.start()
    const store = await open(t, etcd)
    const { seen } = record(store, '/', store.revision)
    await store.commit([put('/a', '1')])
    // The other server starts: to its clock the fence of this one is that of a server of the past.
    t.mock.timers.enable({ apis: ['Date'], now: Date.now() + 25 * 3_600_000 })
    const other = await open(t, etcd)
    t.mock.timers.reset()
    const keys = etcd.etcdctl(['get', '--prefix', '--keys-only', '/platnet/.cluster/fences/']).stdout
    assert.equal(keys.trim().split(/\s+/).length, 1, 'the fence of the first server is gone')
    for (let index = 0; index < 5; index++) {
      assert.equal((await store.commit([put(`/k/${index}`, '1')])).kind, 'committed')
      assert.equal((await other.commit([put(`/o/${index}`, '1')])).kind, 'committed')
    }
    await store.catchUp()
    assert.equal(seen.length, 11)
  })
})
