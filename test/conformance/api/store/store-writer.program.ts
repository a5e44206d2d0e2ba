// Writes to the store at argv[2] until it is killed, and says on stdout, line by line, what was acknowledged.
import { writeSync } from 'node:fs'
import { openStore, type Store } from '../../../../src/api/store/index.ts'
import { silentLogger } from '../../../../src/observe/logger.ts'

const store = await openStore({ path: process.argv[2] ?? '', dialect: 'platform', log: silentLogger })
await Promise.all(Array.from({ length: 8 }, (_, writer) => writeForever(store, writer)))

/** Two keys that must always change together, and now and then a compaction under way. */
async function writeForever(store: Store, writer: number): Promise<never> {
  const keys = [`/w/${writer}/a`, `/w/${writer}/b`]
  let expectedRevision = (await store.get(`/w/${writer}/a`))?.revision ?? 0
  for (let count = 0; ; count++) {
    const value = `${process.pid}-${count}`
    const result = await store.commit(keys.map((key) => ({ kind: 'put', key, value, expectedRevision })))
    if (result.kind !== 'committed') throw new Error(`conflict on ${result.key}`)
    expectedRevision = result.revision
    // Synchronous: what is acknowledged must have left this process before it is killed.
    writeSync(1, `${result.revision} ${writer} ${value}\n`)
    if (count % 50 === 49) await store.compact(Math.max(1, result.revision - 20))
  }
}
