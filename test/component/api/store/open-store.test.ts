import assert from 'node:assert/strict'
import { readFileSync, statSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { it, type TestContext } from 'node:test'
import { type CommitReport, openStore, type Store } from '../../../../src/api/store/index.ts'
import { silentLogger } from '../../../../src/observe/logger.ts'
import { makeTemporaryFolder } from '../../../helpers/temporary-folder.ts'

const options = { dialect: 'platform', log: silentLogger } as const
const put = (key: string, value = '1', expectedRevision = 0) => [{ kind: 'put', key, value, expectedRevision } as const]

function makePath(test: TestContext): string {
  return join(makeTemporaryFolder(test), 'store.db')
}

function countRows(path: string): unknown {
  const database = new DatabaseSync(path)
  const row = database.prepare('SELECT count(*) AS rows FROM history').get()
  database.close()
  return row?.['rows']
}

async function fill(path: string, count: number): Promise<void> {
  const store = await openStore({ ...options, path })
  await Promise.all(Array.from({ length: count }, (_, index) => store.commit(put(`/a/${index}`, 'x'.repeat(500)))))
  await store.close()
}

async function replay(store: Store, afterRevision: number): Promise<string[]> {
  const seen: string[] = []
  const watch = store.watch('/', afterRevision, (events) => {
    for (const event of events) {
      const { key, revision } = event.kind === 'put' ? event.entry : event
      seen.push(`${revision} ${event.kind} ${key} was ${event.previous?.value}`)
    }
  })
  await Promise.resolve()
  watch.close()
  return seen
}

it('A store opened again holds its state, its history and its revision.', async (t) => {
  const path = makePath(t)
  const before = await openStore({ ...options, path })
  await before.commit([...put('/a'), ...put('/ü☃𝄞', '"ü☃𝄞\u0000"')])
  await before.commit(put('/a', '2', 2))
  await before.commit([{ kind: 'delete', key: '/a', expectedRevision: 3 }])
  const entries = await before.range('/')
  const history = await replay(before, 1)
  await before.close()
  const after = await openStore({ ...options, path })
  t.after(() => after.close())
  assert.equal(after.revision, 4)
  assert.deepEqual(await after.range('/'), entries)
  assert.deepEqual(await replay(after, 1), history)
  assert.equal(history.length, 4)
  assert.deepEqual((await after.range('/', { atRevision: 3 })).entries.length, 2)
})

it('A compacted store opened again keeps the revision, also when nothing else is left.', async (t) => {
  const path = makePath(t)
  const before = await openStore({ ...options, path })
  await before.commit(put('/a'))
  await before.commit([{ kind: 'delete', key: '/a', expectedRevision: 2 }])
  await before.compact(3)
  await before.close()
  assert.equal(countRows(path), 0)
  const after = await openStore({ ...options, path })
  t.after(() => after.close())
  assert.deepEqual([after.revision, after.compactRevision], [3, 3])
  assert.deepEqual(await after.commit(put('/a')), { kind: 'committed', revision: 4 })
})

it('A compaction of many rows, in steps and beside writers, leaves on disk what it leaves in memory.', async (t) => {
  const path = makePath(t)
  const before = await openStore({ ...options, path })
  for (let round = 0; round < 3; round++) {
    const { revision } = before
    await Promise.all(
      Array.from({ length: 600 }, (_, index) =>
        before.commit(put(`/a/${index}`, `${round}`, round === 0 ? 0 : revision - 599 + index)),
      ),
    )
  }
  const middle = before.revision - 300
  await Promise.all([before.compact(middle), ...Array.from({ length: 50 }, (_, i) => before.commit(put(`/b/${i}`)))])
  const state = await before.range('/')
  const atMiddle = await before.range('/', { atRevision: middle })
  const history = await replay(before, middle)
  await before.close()
  assert.equal(countRows(path), 600 + 300 + 50)
  const after = await openStore({ ...options, path })
  t.after(() => after.close())
  assert.equal(after.compactRevision, middle)
  assert.deepEqual(await after.range('/'), state)
  assert.deepEqual(await after.range('/', { atRevision: middle }), atMiddle)
  assert.deepEqual(await replay(after, middle), history)
})

it('Commits that wait together are written together, and reported one by one.', async (t) => {
  const reports: CommitReport[] = []
  const store = await openStore({ ...options, path: makePath(t), onCommit: (report) => reports.push(report) })
  t.after(() => store.close())
  await Promise.all(
    Array.from({ length: 40 }, (_, index) => store.commit([...put(`/a/${index}`), ...put(`/b/${index}`)])),
  )
  assert.deepEqual(
    reports.map(({ writes, groupSize }) => [writes, groupSize]),
    Array.from({ length: 40 }, () => [2, 40]),
  )
  assert.ok(reports.every(({ durationMs }) => durationMs > 0))
})

it('The files of the store are for their owner only: Secrets stand in them.', async (t) => {
  const path = makePath(t)
  const store = await openStore({ ...options, path })
  t.after(() => store.close())
  await store.commit(put('/a'))
  for (const file of [path, `${path}-wal`]) assert.equal(statSync(file).mode & 0o777, 0o600, file)
})

it('A second store on the same file is refused while the first is open.', async (t) => {
  const path = makePath(t)
  const first = await openStore({ ...options, path })
  await assert.rejects(openStore({ ...options, path }), {
    code: 'store-locked',
    message: `${path} is in use by another process`,
  })
  await first.commit(put('/a'))
  await first.close()
  const second = await openStore({ ...options, path })
  assert.equal(second.revision, 2)
  await second.close()
})

it('A store of one dialect refuses to open in the other and names both.', async (t) => {
  const path = makePath(t)
  await fill(path, 1)
  await assert.rejects(openStore({ ...options, path, dialect: 'kubernetes' }), {
    code: 'dialect-mismatch',
    message: `${path} was made in the dialect platform and cannot be opened in kubernetes`,
  })
  const store = await openStore({ ...options, path })
  assert.equal(store.revision, 2)
  await store.close()
})

it('A database of a newer schema is refused and left alone.', async (t) => {
  const path = makePath(t)
  await fill(path, 1)
  const database = new DatabaseSync(path)
  database.exec("UPDATE meta SET value = 99 WHERE name = 'schema_version'")
  database.close()
  const before = readFileSync(path)
  await assert.rejects(openStore({ ...options, path }), {
    code: 'schema-too-new',
    message: /schema version 99, .* up to 1/,
  })
  assert.deepEqual(readFileSync(path), before)
})

it('A database that is not a store is refused and left alone.', async (t) => {
  const path = makePath(t)
  const database = new DatabaseSync(path)
  database.exec('CREATE TABLE other (a)')
  database.close()
  await assert.rejects(openStore({ ...options, path }), { code: 'store-corrupt', message: /not one of this store/ })
})

it('A damaged file gives a clear error and is left alone.', async (t) => {
  const path = makePath(t)
  writeFileSync(path, 'this is not a database, whatever it is called; it is a sentence of some length')
  await assert.rejects(openStore({ ...options, path }), {
    code: 'store-corrupt',
    message: `${path} is damaged and cannot be read`,
  })
  assert.match(readFileSync(path, 'utf8'), /a sentence of some length$/)
})

it('A file that is damaged in the middle, or cut off, gives a clear error.', async (t) => {
  const path = makePath(t)
  await fill(path, 200)
  const whole = readFileSync(path)
  writeFileSync(path, Buffer.from(whole).fill(0xa5, 8192, whole.length - 8192))
  await assert.rejects(openStore({ ...options, path }), { code: 'store-corrupt' })
  writeFileSync(path, whole)
  truncateSync(path, 8192)
  await assert.rejects(openStore({ ...options, path }), { code: 'store-corrupt' })
})

it('A folder that is not there gives an error that names the path.', async (t) => {
  const path = join(makeTemporaryFolder(t), 'missing', 'store.db')
  await assert.rejects(openStore({ ...options, path }), {
    code: 'open-failed',
    message: /missing\/store\.db could not be opened: .*ENOENT/,
  })
})
