import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { SetUpkeep, type SetUpkeepParts } from '../../../../src/node/rules/set-upkeep.ts'
import { silentLogger } from '../../../../src/observe/index.ts'

/** Records what the upkeep asks for; `pass` lets so much time go by, and what then happens come to its end. */
function start(t: TestContext, parts: Partial<SetUpkeepParts>) {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const calls: string[] = []
  const upkeep = new SetUpkeep({
    isUsed: () => true,
    isAsExpected: async () => true,
    verify: async () => void calls.push('verify'),
    removeLeftovers: async () => {
      calls.push('remove')
      return false
    },
    warnOfLeftovers: () => void calls.push('warn'),
    log: silentLogger,
    ...parts,
  })
  const pass = async (ms: number) => {
    t.mock.timers.tick(ms)
    for (let turn = 0; turn < 5; turn++) await new Promise(setImmediate)
  }
  return { upkeep, calls, pass }
}

test('a set that the kernel keeps is tried again with longer pauses, and then reported', async (t) => {
  let tries = 0
  const { upkeep, calls, pass } = start(t, {
    removeLeftovers: async () => {
      tries += 1
      return true
    },
  })
  upkeep.removeSoon()
  upkeep.removeSoon()
  await pass(49)
  assert.equal(tries, 0)
  await pass(1)
  assert.equal(tries, 1)
  await pass(99)
  assert.equal(tries, 1)
  for (const ms of [1, 200, 400, 800, 1_600]) await pass(ms)
  assert.equal(tries, 6)
  assert.deepEqual(calls, ['warn'])
  await pass(60_000)
  assert.equal(tries, 6, 'from here on the periodic look tries it')
})

test('a removal that fails is no end of removals', async (t) => {
  let tries = 0
  const { upkeep, pass } = start(t, {
    removeLeftovers: async () => {
      tries += 1
      throw new Error('refused')
    },
  })
  upkeep.removeSoon()
  await pass(50)
  upkeep.removeSoon()
  await pass(50)
  assert.equal(tries, 2)
  await upkeep.stop({ signal: AbortSignal.timeout(1_000) })
  upkeep.removeSoon()
  await pass(50)
  assert.equal(tries, 2, 'nothing is removed after the stop')
})
