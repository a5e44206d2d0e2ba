import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, it, type TestContext } from 'node:test'
import { openEtcdStore } from '../../../../src/api/store/etcd/open-etcd-store.ts'
import type { Store, StoreEvent } from '../../../../src/api/store/index.ts'
import { silentLogger } from '../../../../src/observe/logger.ts'
import { createAuthority } from '../../../helpers/authority.ts'
import { EtcdCluster, etcdLack } from '../../../helpers/etcd.ts'
import { findFreePort } from '../../../helpers/free-port.ts'
import { FreezingProxy } from '../../../helpers/freezing-proxy.ts'
import { put, record, remove } from '../../../helpers/store-contract.ts'
import { makeTemporaryFolder } from '../../../helpers/temporary-folder.ts'
import { until, untilAsync } from '../../../helpers/until.ts'

type EtcdOptions = Parameters<typeof openEtcdStore>[0]

function openAt(prefix: string, servers: readonly string[], more: Partial<EtcdOptions> = {}): Promise<Store> {
  const connection = { servers, callTimeoutMs: 300 }
  return openEtcdStore({ connection, prefix, dialect: 'platform', authority: 'one', log: silentLogger, ...more })
}

describe('the store in etcd', { skip: etcdLack ?? false }, () => {
  let etcd: EtcdCluster
  before(async () => {
    etcd = await EtcdCluster.start()
  })
  after(() => etcd[Symbol.asyncDispose]())

  const open = async (t: TestContext, prefix: string, servers = etcd.servers) => {
    const store = await openAt(prefix, servers)
    t.after(() => store.close())
    return store
  }

  it('shows two servers the same commits in the same order, each once', async (t) => {
    const [one, other] = [await open(t, '/two'), await open(t, '/two')]
    const start = other.revision
    await one.catchUp()
    const seen = [one, other].map((store) => record(store, '/', start).seen)
    const made = await one.commit([put('/a', '1'), put('/b', '1')])
    assert.equal(made.kind, 'committed')
    await other.catchUp()
    assert.equal((await other.get('/a'))?.value, '1')
    const revision = (await other.get('/a'))?.revision ?? 0
    assert.equal((await other.commit([put('/a', '2', revision), remove('/b', revision)])).kind, 'committed')
    const late = await one.commit([put('/a', '3', revision)])
    assert.equal(late.kind === 'conflict' && late.current?.value, '2')
    await Promise.all([one.catchUp(), other.catchUp()])
    assert.equal(seen[0]?.length, 2)
    assert.deepEqual(seen[0], seen[1])
  })

  it('lets one of two servers win that write the same key at the same time', async (t) => {
    const stores = [await open(t, '/race'), await open(t, '/race')]
    for (let round = 0; round < 10; round++) {
      const results = await Promise.all(stores.map((store, index) => store.commit([put(`/${round}`, String(index))])))
      assert.equal(results.filter(({ kind }) => kind === 'committed').length, 1)
      const values = await Promise.all(stores.map(async (store) => (await store.get(`/${round}`))?.value))
      assert.equal(values[0], String(results.findIndex(({ kind }) => kind === 'committed')))
    }
  })

  it('goes on with watches that another server began, also after its own start', async (t) => {
    const one = await open(t, '/resume')
    const start = one.revision
    for (let index = 0; index < 5; index++) await one.commit([put(`/k/${index}`, 'v')])
    const before = record(one, '/k/', start).seen
    const other = await open(t, '/resume')
    const after = record(other, '/k/', start).seen
    await until('both have seen all', () => after.length === 5 && before.length === 5)
    assert.deepEqual(after, before)
  })

  it('reads what is fresh also when another program writes to the same etcd', async (t) => {
    const store = await open(t, '/shared')
    await store.commit([put('/a', '1')])
    assert.equal(etcd.etcdctl(['put', '/elsewhere', 'x']).status, 0)
    const before = store.revision
    await store.catchUp()
    assert.ok(store.revision > before)
    assert.equal((await store.get('/a'))?.value, '1')
  })

  it('settles a write whose answer is lost: it happened once, and the writer learns it', async (t) => {
    await using proxy = await FreezingProxy.start(etcd.servers[0] ?? '')
    const store = await open(t, '/lost', [proxy.url, ...etcd.servers])
    const { seen } = record(store, '/', store.revision)
    await store.commit([put('/a', '1')])
    const { revision = 0 } = (await store.get('/a')) ?? {}
    proxy.freeze()
    const result = await store.commit([put('/a', '2', revision)])
    assert.equal(result.kind, 'committed')
    assert.equal((await store.get('/a'))?.value, '2')
    assert.equal(seen.length, 2, 'watchers see it once')
  })

  it('tells a writer that the outcome is unknown when no member answers, and sees it later', async (t) => {
    await using proxy = await FreezingProxy.start(etcd.servers[0] ?? '')
    const store = await openAt('/unknown', [proxy.url], {
      connection: { servers: [proxy.url], callTimeoutMs: 100 },
      patienceMs: 200,
    })
    t.after(() => store.close())
    await store.commit([put('/a', '1')])
    proxy.freeze()
    await assert.rejects(store.commit([put('/b', '1')]), { code: 'outcome-unknown' })
    await assert.rejects(async () => store.catchUp(), { code: 'store-unreachable' })
    await until('the store says so', () => store.failure?.code === 'store-unreachable')
    assert.equal(store.failure?.object, `etcd ${proxy.url}`)
    proxy.thaw()
    await untilAsync('the write is seen', async () => (await store.get('/b'))?.value === '1')
    await until('the store is well again', () => store.failure === undefined)
  })

  it('lists anew where etcd has forgotten what this server had not read: watches end, followers get the difference', async (t) => {
    await using proxy = await FreezingProxy.start(etcd.servers[0] ?? '')
    const [behind, other] = [await open(t, '/gap', [proxy.url]), await open(t, '/gap')]
    await other.commit([put('/a', '1'), put('/b', '1')])
    await behind.catchUp()
    const { revision: first } = behind
    let ended = 0
    behind.watch('/', first, () => {}, { onBehind: () => ended++ })
    const followed: StoreEvent[] = []
    behind.watch('/', first, (events) => followed.push(...events))
    proxy.freeze()
    await other.commit([put('/a', '2', (await other.get('/a'))?.revision)])
    await other.commit([remove('/b', (await other.get('/b'))?.revision ?? 0), put('/c', '1')])
    assert.equal(etcd.etcdctl(['compact', String(other.revision)]).status, 0)
    proxy.thaw()
    await untilAsync('the state is there', async () => (await behind.get('/c')) !== undefined)
    assert.equal(ended, 1)
    assert.deepEqual(
      followed.map((event) => `${event.kind} ${event.kind === 'put' ? event.entry.key : event.key}`).sort(),
      ['delete /b', 'put /a', 'put /c'],
    )
    assert.throws(() => behind.watch('/', first, () => {}), { code: 'compacted' })
  })

  it('forgets history at all servers of a cluster', async (t) => {
    const [one, other] = [await open(t, '/forget'), await open(t, '/forget')]
    for (let index = 0; index < 4; index++) await one.commit([put(`/k/${index}`, 'v')])
    const revision = one.revision - 1
    await one.compact(revision)
    await other.catchUp()
    assert.deepEqual([one.compactRevision, other.compactRevision], [revision, revision])
    await other.commit([put('/k/9', 'v')])
    await other.compact(other.revision)
    assert.equal(other.compactRevision, revision, 'it is the turn of the server that did it last')
  })

  it('refuses keys of another program, another dialect, another cluster', async (t) => {
    await open(t, '/mine')
    await assert.rejects(openAt('/mine', etcd.servers, { dialect: 'kubernetes' }), { code: 'dialect-mismatch' })
    await assert.rejects(openAt('/mine', etcd.servers, { authority: 'two' }), { code: 'cluster-mismatch' })
    etcd.etcdctl(['put', '/registry/pods/x', 'y'])
    await assert.rejects(openAt('/registry', etcd.servers), { code: 'cluster-mismatch', message: /below \/registry\// })
  })

  it('says which member does not answer', async () => {
    const server = `http://127.0.0.1:${await findFreePort()}`
    await assert.rejects(openAt('/x', [server], { patienceMs: 300 }), {
      code: 'store-unreachable',
      object: `etcd ${server}`,
      remedy: /--etcd-servers/,
    })
  })

  it('refuses a write that is too large for etcd, and stores nothing of it', async (t) => {
    const store = await open(t, '/large')
    await assert.rejects(store.commit([put('/a', 'x'.repeat(2 * 1024 * 1024))]), { code: 'write-too-large' })
    await store.catchUp()
    assert.equal(await store.get('/a'), undefined)
    const many = Array.from({ length: 200 }, (_, index) => put(`/${index}`, 'v'))
    await assert.rejects(store.commit(many), { code: 'write-too-large' })
    assert.equal((await store.commit([put('/a', '1')])).kind, 'committed')
  })
})

describe('the store in an etcd without space', { skip: etcdLack ?? false }, () => {
  it('refuses writes and says why until there is space again; reads go on', async (t) => {
    await using etcd = await EtcdCluster.start({ flags: ['--quota-backend-bytes', String(2 * 1024 * 1024)] })
    const store = await openAt('/full', etcd.servers, { connection: { servers: etcd.servers } })
    t.after(() => store.close())
    await store.commit([put('/a', '1')])
    // etcd learns its size every 100 ms: some writes beyond the quota go through.
    const fill = async () => {
      for (let index = 0; index < 200; index++) await store.commit([put(`/fill/${index}`, 'x'.repeat(500_000))])
    }
    await assert.rejects(fill(), { code: 'store-full', remedy: /alarm disarm/ })
    assert.equal(store.failure?.code, 'store-full')
    await store.catchUp()
    assert.equal((await store.get('/a'))?.value, '1')
    etcd.etcdctl(['del', '--prefix', '/full/fill/'])
    await store.catchUp()
    for (const words of [['compact', String(store.revision)], ['defrag'], ['alarm', 'disarm']]) {
      assert.equal(etcd.etcdctl(words).status, 0, words.join(' '))
    }
    assert.equal((await store.commit([put('/b', '1')])).kind, 'committed')
    assert.equal(store.failure, undefined)
  })
})

describe('the store in etcd over TLS', { skip: etcdLack ?? false }, () => {
  it('shows its certificate, and names what is wrong with one', async (t) => {
    const folder = makeTemporaryFolder(t)
    const [authority, stranger] = [await createAuthority(), await createAuthority()]
    const own = await authority.issue('etcd')
    const files = { ca: join(folder, 'ca'), cert: join(folder, 'cert'), key: join(folder, 'key') }
    writeFileSync(files.ca, authority.certPem)
    writeFileSync(files.cert, own.certPem)
    writeFileSync(files.key, own.keyPem)
    await using etcd = await EtcdCluster.start({ tls: files })
    const client = await authority.issue('platnet')
    const tls = { ca: authority.certPem, cert: client.certPem, key: client.keyPem }
    const openWith = (trust: Partial<typeof tls>) =>
      openAt('/tls', etcd.servers, { connection: { servers: etcd.servers, tls: trust }, patienceMs: 300 })
    const store = await openWith(tls)
    assert.equal((await store.commit([put('/a', '1')])).kind, 'committed')
    await store.close()
    await assert.rejects(openWith({ ...tls, ca: stranger.certPem }), {
      code: 'store-unreachable',
      remedy: /--etcd-cafile/,
    })
    await assert.rejects(openWith({ ca: tls.ca }), { code: 'store-unreachable', remedy: /--etcd-certfile/ })
  })
})
