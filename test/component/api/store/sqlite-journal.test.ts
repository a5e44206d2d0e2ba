import assert from 'node:assert/strict'
import { it } from 'node:test'
import { Worker } from 'node:worker_threads'
import { EmbeddedStore } from '../../../../src/api/store/embedded-store.ts'
import { SqliteJournal } from '../../../../src/api/store/sqlite-journal.ts'
import { StoreState } from '../../../../src/api/store/store-state.ts'
import { silentLogger } from '../../../../src/observe/logger.ts'

const put = { kind: 'put', key: '/a', value: '1', expectedRevision: 0 } as const

it('A thread that ends before it answers fails the store with its exit code.', async () => {
  const worker = new Worker("require('node:worker_threads').parentPort.on('message', () => process.exit(3))", {
    eval: true,
  })
  const store = new EmbeddedStore(new SqliteJournal(worker), new StoreState(1, 0), { log: silentLogger })
  await assert.rejects(store.commit([put]), {
    code: 'store-failed',
    message: /the thread of the database is gone: it ended with code 3/,
  })
  assert.deepEqual((await store.range('/')).entries, [])
  await store.close()
})

it('A thread that throws fails what is asked of it later, with its error.', async () => {
  const worker = new Worker("throw new Error('out of luck')", { eval: true })
  const journal = new SqliteJournal(worker)
  await new Promise((resolve) => worker.on('exit', resolve))
  await assert.rejects(journal.load('/none', 'platform'), { code: 'store-failed', message: /out of luck/ })
  await journal.close()
})
