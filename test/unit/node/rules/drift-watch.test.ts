import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { DriftWatch, type DriftWatchParts } from '../../../../src/node/rules/drift-watch.ts'
import { unchanged } from '../../../../src/node/rules/reports.ts'
import { silentLogger } from '../../../../src/observe/index.ts'

type Writer = Omit<DriftWatchParts['writer'], 'tables'>

const report = { drift: [], readMs: 0, write: unchanged }
const commit = { family: 'IPv4', changes: [{ table: 'nat', chain: 'PLAT-SERVICES' }] } as const

/** `pass` lets so much time go by, and what then happens come to its end. */
function watchWith(t: TestContext, writer: Writer) {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const watch = new DriftWatch({ family: 'IPv4', writer: { tables: ['nat', 'filter'], ...writer }, log: silentLogger })
  const pass = async (ms: number) => {
    t.mock.timers.tick(ms)
    await new Promise(setImmediate)
  }
  return { watch, pass }
}

test('a change that could not be looked at is looked at again after 0.1 s, later ones after longer, with what came meanwhile', async (t) => {
  const asked: number[] = []
  const { watch, pass } = watchWith(t, {
    verify: async () => report,
    verifyChains: async (commits) => {
      asked.push(commits.length)
      if (asked.length <= 2) throw new Error('another program holds the lock')
      return report
    },
  })
  watch.onCommit(commit)
  await pass(100)
  watch.onCommit(commit)
  await pass(99)
  assert.deepEqual(asked, [1], 'not at once')
  await pass(1)
  assert.deepEqual(asked, [1, 2])
  await pass(399)
  assert.deepEqual(asked, [1, 2], 'a second failure waits longer')
  await pass(1)
  assert.deepEqual(asked, [1, 2, 2])
  await pass(60_000)
  assert.deepEqual(asked, [1, 2, 2], 'and no more once it succeeded')
})

test('that events were missed is remembered until everything has been compared', async (t) => {
  let tries = 0
  const { watch, pass } = watchWith(t, {
    verifyChains: async () => report,
    verify: async () => {
      tries += 1
      if (tries < 3) throw new Error('another program holds the lock')
      return report
    },
  })
  watch.onGap()
  await pass(100)
  for (let count = 0; count < 5; count += 1) await pass(2_000)
  assert.equal(tries, 3)
})
