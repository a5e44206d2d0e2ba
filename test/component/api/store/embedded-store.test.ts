import assert from 'node:assert/strict'
import { join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { openMemoryStore, openStore, type Store } from '../../../../src/api/store/index.ts'
import { silentLogger } from '../../../../src/observe/logger.ts'
import { createRecordingLogger } from '../../../helpers/recording-logger.ts'
import { describeStore, put, record } from '../../../helpers/store-contract.ts'
import { makeTemporaryFolder } from '../../../helpers/temporary-folder.ts'

type OpenForTest = (test: TestContext) => Promise<Store>

const stores: Readonly<Record<string, OpenForTest>> = {
  'a store in memory': async () => openMemoryStore({ log: silentLogger }),
  'a store on disk': async (test) => {
    const path = join(makeTemporaryFolder(test), 'store.db')
    const store = await openStore({ path, dialect: 'platform', log: silentLogger })
    test.after(() => store.close())
    return store
  },
}

for (const [name, open] of Object.entries(stores)) {
  describeStore(name, open)
  describe(`${name} of one process`, () => {
    it('checks a writer against a write that is still under way, after an older one of the key has become durable', async (t) => {
      const store = await open(t)
      const first = store.commit([put('/a', '1')])
      for (let turn = 0; turn < 3; turn++) await Promise.resolve()
      const second = store.commit([put('/a', '2', 2)])
      await first
      const third = await store.commit([put('/a', '3', 2)])
      assert.equal(third.kind, 'conflict')
      assert.deepEqual(await second, { kind: 'committed', revision: 3 })
      assert.equal((await store.get('/a'))?.value, '2')
    })
  })
}

describe('a store with a failing listener', () => {
  it('serves everybody else and says who failed', async () => {
    const { log, lines } = createRecordingLogger()
    const store = openMemoryStore({ log })
    store.watch('/', 0, () => {
      throw new Error('mine')
    })
    const { seen } = record(store, '/', 0)
    assert.deepEqual(await store.commit([put('/a', '1')]), { kind: 'committed', revision: 2 })
    assert.deepEqual(seen, ['2 put /a=1 was undefined'])
    assert.deepEqual(lines, ['error a watch listener failed'])
  })
})
