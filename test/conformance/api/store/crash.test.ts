import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, existsSync, statSync, truncateSync } from 'node:fs'
import { join } from 'node:path'
import { it } from 'node:test'
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises'
import { openStore, type Store } from '../../../../src/api/store/index.ts'
import { silentLogger } from '../../../../src/observe/logger.ts'
import { makeTemporaryFolder } from '../../../helpers/temporary-folder.ts'

const writerProgram = join(import.meta.dirname, 'store-writer.program.ts')
const rounds = 10

interface Acknowledged {
  readonly revision: number
  readonly writer: string
  readonly value: string
}

/** Lets the writer run until the first acknowledgement and a little longer, kills it, and gives what it had acknowledged. */
async function writeUntilKilled(path: string, runMs: number): Promise<Acknowledged[]> {
  const child = spawn(process.execPath, [writerProgram, path], { stdio: ['ignore', 'pipe', 'inherit'] })
  let output = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    output += text
  })
  await Promise.race([once(child.stdout, 'data'), once(child, 'exit')])
  await sleep(runMs)
  child.kill('SIGKILL')
  const [, signal] = await once(child, 'close')
  assert.equal(signal, 'SIGKILL', 'the writer ended by itself')
  return output
    .split('\n')
    .slice(0, -1)
    .map((line) => {
      const [revision, writer = '', value = ''] = line.split(' ')
      return { revision: Number(revision), writer, value }
    })
}

/** Of each writer the last acknowledged write must be there, or a later one of the same process that was not acknowledged in time. */
async function assertNothingLost(store: Store, acknowledged: readonly Acknowledged[]): Promise<void> {
  for (const { revision, writer, value } of acknowledged) {
    const [a, b] = [await store.get(`/w/${writer}/a`), await store.get(`/w/${writer}/b`)]
    assert.deepEqual([a?.value, a?.revision], [b?.value, b?.revision], 'two keys of one commit differ')
    assert.ok((a?.revision ?? 0) >= revision, `revision ${revision} of writer ${writer} is lost`)
    if (a?.revision === revision) assert.equal(a.value, value)
  }
}

/** A watcher that saw everything up to `revision` sees every later commit once, whole and in order, unless history was dropped. */
async function assertResumes(store: Store, revision: number): Promise<void> {
  const seen: number[] = []
  const watch = store.watch('/w/', Math.max(revision, store.compactRevision), (events) => {
    assert.equal(events.length, 2)
    for (const event of events) if (event.kind === 'put') seen.push(event.entry.revision)
  })
  while (watch.revision < store.revision) await nextTurn()
  watch.close()
  const first = Math.max(revision, store.compactRevision) + 1
  assert.deepEqual(
    seen,
    Array.from({ length: 2 * (store.revision - first + 1) }, (_, index) => first + (index >> 1)),
  )
}

const open = (path: string) => openStore({ path, dialect: 'platform', log: silentLogger })

it('A writer killed at any moment loses nothing it acknowledged and uses no revision twice.', async (t) => {
  const path = join(makeTemporaryFolder(t), 'store.db')
  const used = new Set<number>()
  let newest = 1
  for (let round = 0; round < rounds; round++) {
    const acknowledged = await writeUntilKilled(path, Math.random() * 150)
    for (const { revision } of acknowledged) {
      assert.ok(revision > newest, `revision ${revision} came after ${newest} had been there`)
      assert.ok(!used.has(revision), `revision ${revision} was used twice`)
      used.add(revision)
    }
    const store = await open(path)
    await assertNothingLost(store, acknowledged)
    await assertResumes(store, newest)
    newest = store.revision
    await store.close()
  }
  assert.ok(used.size > rounds, 'the writers hardly wrote')
})

it('A write-ahead log that is cut off opens with the whole commits before the cut.', async (t) => {
  const folder = makeTemporaryFolder(t)
  const path = join(folder, 'store.db')
  await writeUntilKilled(path, 50)
  const walBytes = statSync(`${path}-wal`).size
  for (const bytes of [walBytes - 1, Math.floor(walBytes / 2), 40, 1, 0]) {
    const copy = join(folder, `copy-${bytes}.db`)
    cpSync(path, copy)
    cpSync(`${path}-wal`, `${copy}-wal`)
    truncateSync(`${copy}-wal`, bytes)
    const store = await open(copy)
    const { entries } = await store.range('/w/')
    for (const { key, value } of entries) {
      assert.equal((await store.get(`${key.slice(0, -1)}a`))?.value, value)
      assert.equal((await store.get(`${key.slice(0, -1)}b`))?.value, value)
    }
    assert.deepEqual(
      (await store.commit([{ kind: 'put', key: '/x', value: '1', expectedRevision: 0 }])).kind,
      'committed',
    )
    await store.close()
    assert.ok(!existsSync(`${copy}-wal`), 'a store that is closed leaves one file')
  }
})
