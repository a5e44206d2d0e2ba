import assert from 'node:assert/strict'
import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { it, type TestContext } from 'node:test'
import { backUpFile, openStore, restoreFile } from '../../../../src/api/store/index.ts'
import { silentLogger } from '../../../../src/observe/logger.ts'
import { makeTemporaryFolder } from '../../../helpers/temporary-folder.ts'

const dialect = 'platform'
const put = (key: string, value: string, expectedRevision = 0) =>
  [{ kind: 'put', key, value, expectedRevision }] as const
const open = (path: string) => openStore({ path, dialect, log: silentLogger })

/** A store with one key at revision 3, and room for a backup beside it. */
async function makeStore(test: TestContext): Promise<{ store: string; backup: string }> {
  const folder = makeTemporaryFolder(test)
  const [path, backup] = [join(folder, 'state.db'), join(folder, 'backup.db')]
  const store = await open(path)
  await store.commit(put('/a', '1'))
  await store.commit(put('/a', '2', 2))
  await store.close()
  return { store: path, backup }
}

it('A backup of a store in use is whole, private, and does not see what is written after it.', async (t) => {
  const { store, backup } = await makeStore(t)
  const live = await open(store)
  t.after(() => live.close())
  await live.commit(put('/b', '1'))
  await live.backup(backup)
  await live.commit(put('/c', '1'))
  assert.equal(statSync(backup).mode & 0o777, 0o600)
  const copy = await open(backup)
  t.after(() => copy.close())
  assert.deepEqual(
    (await copy.range('/')).entries.map(({ key, value }) => [key, value]),
    [
      ['/a', '2'],
      ['/b', '1'],
    ],
  )
  await assert.rejects(live.backup(backup), { code: 'backup-failed' })
})

it('A restored store has the state of the backup, at a revision that no one has seen, and no history before it.', async (t) => {
  const { store, backup } = await makeStore(t)
  backUpFile(store, dialect, backup)
  const lost = await open(store)
  await lost.commit(put('/lost', '1'))
  const lostRevision = lost.revision
  await lost.close()
  const nowMs = Date.UTC(2026, 0, 1)
  const revision = restoreFile({ backup, store, dialect, force: true, nowMs })
  assert.equal(revision, nowMs * 1000)
  assert.ok(revision > lostRevision)
  const restored = await open(store)
  assert.equal(restored.revision, revision)
  assert.deepEqual(
    (await restored.range('/')).entries.map(({ key, value }) => [key, value]),
    [['/a', '2']],
  )
  assert.throws(() => restored.watch('/', lostRevision, () => {}), { code: 'compacted' })
  const result = await restored.commit(put('/b', '1'))
  assert.deepEqual(result, { kind: 'committed', revision: revision + 1 })
  await restored.close()
  const replaced = await open(`${store}.replaced`)
  assert.ok(await replaced.get('/lost'))
  await replaced.close()
  const again = restoreFile({ backup, store, dialect, force: true, nowMs: 0 })
  assert.ok(again > revision + 1, 'also when the clock has gone back')
})

it('A restore is refused, and the store left as it was, for every reason there is.', async (t) => {
  const { store, backup } = await makeStore(t)
  backUpFile(store, dialect, backup)
  const request = { backup, store, dialect, force: true, nowMs: 1 } as const
  const bytes = readFileSync(store)
  const noBackup = `${backup}.no`
  writeFileSync(noBackup, '')
  const truncated = `${backup}.short`
  writeFileSync(truncated, readFileSync(backup).subarray(0, 5000))
  const newer = `${backup}.newer`
  writeFileSync(newer, readFileSync(backup))
  const database = new DatabaseSync(newer)
  database.exec("UPDATE meta SET value = 99 WHERE name = 'schema_version'")
  database.close()
  const table = [
    [{ ...request, force: false }, 'restore-refused'],
    [{ ...request, backup: '/does/not/exist' }, 'restore-refused'],
    [{ ...request, backup: noBackup }, 'restore-refused'],
    [{ ...request, backup: truncated }, 'store-corrupt'],
    [{ ...request, backup: newer }, 'schema-too-new'],
    [{ ...request, dialect: 'kubernetes' }, 'dialect-mismatch'],
  ] as const
  for (const [each, code] of table) {
    assert.throws(() => restoreFile(each), { code })
    assert.deepEqual(readFileSync(store), bytes)
    assert.equal(existsSync(`${store}.restoring`), false)
  }
  const live = await open(store)
  assert.throws(() => restoreFile(request), { code: 'store-locked' })
  await live.close()
})

it('A store that is damaged can be replaced, a folder without one filled.', async (t) => {
  const { store, backup } = await makeStore(t)
  backUpFile(store, dialect, backup)
  writeFileSync(store, 'not a database')
  restoreFile({ backup, store, dialect, force: true, nowMs: 1 })
  const other = join(makeTemporaryFolder(t), 'state.db')
  restoreFile({ backup, store: other, dialect, force: false, nowMs: 1 })
  for (const path of [store, other]) {
    const restored = await open(path)
    assert.equal((await restored.get('/a'))?.value, '2')
    await restored.close()
  }
  assert.throws(() => backUpFile(`${store}.none`, dialect, backup), { code: 'backup-failed' })
})
