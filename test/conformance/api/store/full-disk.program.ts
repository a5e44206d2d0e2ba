// Fills the small disk on which the store at argv[2] lies, and prints what the store does about it, as JSON.
import { openStore, StoreError } from '../../../../src/api/store/index.ts'
import { silentLogger } from '../../../../src/observe/logger.ts'

const options = { path: process.argv[2] ?? '', dialect: 'platform', log: silentLogger } as const
const value = 'x'.repeat(20_000)
const store = await openStore(options)
const codes = new Set<string>()
let committed = 0
while (store.failure === undefined) {
  const commits = Array.from({ length: 5 }, (_, index) =>
    store.commit([{ kind: 'put', key: `/a/${committed}-${index}`, value, expectedRevision: 0 }]),
  )
  for (const outcome of await Promise.allSettled(commits)) {
    if (outcome.status === 'fulfilled') committed++
    else codes.add(outcome.reason instanceof StoreError ? outcome.reason.code : String(outcome.reason))
  }
}
const readable = (await store.range('/')).entries.length
const message = store.failure.message
await store.close()
const again = await openStore(options)
const reopened = (await again.range('/')).entries.length
await again.close()
process.stdout.write(JSON.stringify({ codes: [...codes], committed, readable, reopened, message }))
