import assert from 'node:assert/strict'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { migrateToEtcd, migrateToSqlite } from '../../../../src/api/store/etcd/migrate.ts'
import { openEtcdStore } from '../../../../src/api/store/etcd/open-etcd-store.ts'
import { openStore, type Store } from '../../../../src/api/store/index.ts'
import { silentLogger } from '../../../../src/observe/logger.ts'
import { EtcdCluster, etcdLack } from '../../../helpers/etcd.ts'
import { put, remove } from '../../../helpers/store-contract.ts'
import { makeTemporaryFolder } from '../../../helpers/temporary-folder.ts'

describe('a migration between SQLite and etcd', { skip: etcdLack ?? false }, () => {
  let etcd: EtcdCluster
  before(async () => {
    etcd = await EtcdCluster.start()
  })
  after(() => etcd[Symbol.asyncDispose]())

  const openSqlite = (path: string) => openStore({ path, dialect: 'platform', log: silentLogger })
  const placeAt = (prefix: string) => ({ prefix, dialect: 'platform', authority: 'one' }) as const
  const openEtcd = (prefix: string) =>
    openEtcdStore({ ...placeAt(prefix), connection: { servers: etcd.servers }, log: silentLogger })

  async function valuesOf(store: Store): Promise<ReadonlyMap<string, string>> {
    const { entries } = await store.range('/')
    return new Map(entries.map(({ key, value }) => [key, value]))
  }

  it('keeps every key both ways, and its revisions only go up: clients with an older one list again', async (t) => {
    const folder = makeTemporaryFolder(t)
    const sqlite = join(folder, 'state.db')
    const source = await openSqlite(sqlite)
    for (let index = 0; index < 250; index++) await source.commit([put(`/k/${index}`, `value ${index} é`)])
    await source.commit([put('/large', 'x'.repeat(700_000)), put('/large2', 'y'.repeat(700_000))])
    const { revision = 0 } = (await source.get('/k/7')) ?? {}
    await source.commit([remove('/k/7', revision)])
    const [before, oldRevision] = [await valuesOf(source), source.revision]
    await source.close()

    const shown: number[] = []
    const migration = {
      sqlite,
      connection: { servers: etcd.servers },
      place: placeAt('/moved'),
      onProgress: (done: number) => shown.push(done),
    }
    assert.equal(await migrateToEtcd(migration), before.size)
    assert.equal(shown.at(-1), before.size)
    const moved = await openEtcd('/moved')
    assert.deepEqual(await valuesOf(moved), before)
    const { entries } = await moved.range('/')
    assert.ok(entries.every((entry) => entry.revision > oldRevision && entry.createRevision > oldRevision))
    assert.throws(() => moved.watch('/', oldRevision, () => {}), { code: 'compacted' })
    const changed = await moved.commit([put('/k/8', 'new', (await moved.get('/k/8'))?.revision)])
    assert.equal(changed.kind, 'committed')
    assert.equal((await moved.commit([put('/k/9', 'late', oldRevision)])).kind, 'conflict')
    const etcdRevision = moved.revision
    const inEtcd = await valuesOf(moved)
    await moved.close()
    await assert.rejects(migrateToEtcd(migration), { code: 'migration-refused', message: /already/ })

    const back = { ...migration, sqlite: join(folder, 'back.db') }
    assert.equal(await migrateToSqlite(back), before.size)
    const returned = await openSqlite(back.sqlite)
    t.after(() => returned.close())
    assert.deepEqual(await valuesOf(returned), inEtcd)
    assert.ok(returned.revision > etcdRevision)
    assert.throws(() => returned.watch('/', etcdRevision, () => {}), { code: 'compacted' })
    assert.equal((await returned.get('/k/8'))?.revision, changed.kind === 'committed' && changed.revision)
    await assert.rejects(migrateToSqlite(back), { code: 'migration-refused', message: /already/ })
  })

  it('serves nothing from a migration that did not finish', async (t) => {
    assert.equal(etcd.etcdctl(['put', '/half/.cluster/migration', '10']).status, 0)
    await assert.rejects(openEtcd('/half'), {
      code: 'cluster-mismatch',
      message: /did not finish/,
      remedy: /etcdctl del/,
    })
    const sqlite = join(makeTemporaryFolder(t), 'missing.db')
    const migration = { sqlite, connection: { servers: etcd.servers }, place: placeAt('/none'), onProgress: () => {} }
    await assert.rejects(migrateToEtcd(migration), { code: 'migration-refused', message: /not there/ })
    await assert.rejects(migrateToSqlite(migration), { code: 'cluster-mismatch' })
  })

  it('takes no state from a server that runs', async (t) => {
    const sqlite = join(makeTemporaryFolder(t), 'state.db')
    const running = await openSqlite(sqlite)
    t.after(() => running.close())
    const migration = { sqlite, connection: { servers: etcd.servers }, place: placeAt('/locked'), onProgress: () => {} }
    await assert.rejects(migrateToEtcd(migration), { code: 'store-locked' })
  })
})
