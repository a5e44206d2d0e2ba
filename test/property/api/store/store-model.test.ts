import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { it } from 'node:test'
import fc from 'fast-check'
import {
  openMemoryStore,
  openStore,
  type Store,
  type StoreEvent,
  type StoreWrite,
} from '../../../../src/api/store/index.ts'
import { silentLogger } from '../../../../src/observe/logger.ts'

type Entries = ReadonlyMap<string, { readonly value: string; readonly revision: number }>

/** What the store must hold, at every revision there ever was. */
class Model {
  readonly states: Entries[] = [new Map(), new Map()]

  get newest(): Entries {
    return this.states.at(-1) ?? new Map()
  }

  /** The revision of the commit, or undefined for a conflict. */
  commit(writes: readonly StoreWrite[]): number | undefined {
    const state = new Map(this.newest)
    if (writes.some((write) => (state.get(write.key)?.revision ?? 0) !== write.expectedRevision)) return undefined
    const revision = this.states.length
    for (const write of writes) {
      if (write.kind === 'put') state.set(write.key, { value: write.value, revision })
      else state.delete(write.key)
    }
    this.states.push(state)
    return revision
  }
}

interface Step {
  readonly kind: 'put' | 'delete'
  readonly keys: readonly string[]
  /** Sometimes a writer believes the wrong thing. */
  readonly error: number
  /** Sometimes a writer does not wait for the one before. */
  readonly waits: boolean
}

const key = fc.constantFrom('/a/1', '/a/2', '/a/3', '/b/1', '/b/2')
const step: fc.Arbitrary<Step> = fc.record({
  kind: fc.constantFrom('put', 'put', 'delete'),
  keys: fc.uniqueArray(key, { minLength: 1, maxLength: 3 }),
  error: fc.constantFrom(0, 0, 0, 1),
  waits: fc.boolean(),
})

function toWrites(step: Step, model: Model, index: number): StoreWrite[] {
  return step.keys.flatMap((key): StoreWrite[] => {
    const expectedRevision = (model.newest.get(key)?.revision ?? 0) + step.error
    if (step.kind === 'put') return [{ kind: 'put', key, value: `${index}`, expectedRevision }]
    return expectedRevision === 0 ? [] : [{ kind: 'delete', key, expectedRevision }]
  })
}

async function play(store: Store, steps: readonly Step[]): Promise<Model> {
  const model = new Model()
  const pending: Promise<void>[] = []
  for (const [index, step] of steps.entries()) {
    const writes = toWrites(step, model, index)
    if (writes.length === 0) continue
    const revision = model.commit(writes)
    const expected = revision === undefined ? 'conflict' : `committed ${revision}`
    pending.push(
      store.commit(writes).then((result) => {
        assert.equal(result.kind === 'committed' ? `committed ${result.revision}` : result.kind, expected)
        if (result.kind === 'committed') assert.ok(store.revision >= result.revision)
      }),
    )
    if (step.waits) await Promise.all(pending)
  }
  await Promise.all(pending)
  return model
}

async function listAt(store: Store, prefix: string, atRevision: number): Promise<[string, string, number][]> {
  const { entries } = await store.range(prefix, { atRevision })
  return entries.map((entry) => [entry.key, entry.value, entry.revision])
}

function expectAt(entries: Entries, prefix: string): [string, string, number][] {
  return [...entries]
    .filter(([key]) => key.startsWith(prefix))
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, { value, revision }]) => [key, value, revision])
}

/** A list at `from`, then every event of the watch: after each commit it must be the list at that revision. */
async function assertReplayIsList(store: Store, prefix: string, from: number): Promise<void> {
  const replica = new Map((await listAt(store, prefix, from)).map(([key, ...rest]) => [key, [key, ...rest] as const]))
  const states = new Map<number, unknown>()
  const watch = store.watch(prefix, from, (events: readonly StoreEvent[]) => {
    for (const event of events) {
      const { key, revision } = event.kind === 'put' ? event.entry : event
      assert.equal(event.previous?.value, replica.get(key)?.[1])
      if (event.kind === 'put') replica.set(key, [key, event.entry.value, revision])
      else replica.delete(key)
      states.set(
        revision,
        [...replica.values()].toSorted(([a], [b]) => (a < b ? -1 : 1)),
      )
    }
  })
  await Promise.resolve()
  watch.close()
  for (const [revision, state] of states) assert.deepEqual(state, await listAt(store, prefix, revision))
  assert.equal(replica.size, (await store.range(prefix)).entries.length)
}

async function assertHolds(store: Store, model: Model, from: number): Promise<void> {
  assert.equal(store.revision, model.states.length - 1)
  for (let revision = from; revision < model.states.length; revision++) {
    const entries = model.states[revision] ?? new Map()
    assert.deepEqual(await listAt(store, '/', revision), expectAt(entries, '/'))
    assert.deepEqual(await listAt(store, '/a/', revision), expectAt(entries, '/a/'))
  }
  await assertReplayIsList(store, '/', from)
  await assertReplayIsList(store, '/a/', from)
}

it('Any commits leave, at every revision, what a map would hold; a replayed watch equals the list.', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(step, { maxLength: 60 }),
      fc.double({ min: 0, max: 1, noNaN: true }),
      async (steps, at) => {
        const store = openMemoryStore({ log: silentLogger })
        const model = await play(store, steps)
        await assertHolds(store, model, 1)
        const compactRevision = Math.floor(at * store.revision)
        await store.compact(compactRevision)
        await assertHolds(store, model, Math.max(1, compactRevision))
      },
    ),
  )
})

it('A store on disk holds the same after it is opened again, compacted or not.', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'plt-test-'))
  let round = 0
  try {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 60 }), fc.boolean(), async (steps, isCompacted) => {
        const options = { path: join(folder, `${round++}.db`), dialect: 'platform', log: silentLogger } as const
        const before = await openStore(options)
        const model = await play(before, steps)
        const from = isCompacted ? Math.ceil(before.revision / 2) : 1
        if (isCompacted) await before.compact(from)
        await before.close()
        const after = await openStore(options)
        await assertHolds(after, model, from)
        await after.close()
      }),
      { numRuns: 10 },
    )
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
})
