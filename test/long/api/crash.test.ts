import assert from 'node:assert/strict'
import { it } from 'node:test'
import { runCrashRounds } from '../../conformance/api/crash-rounds.ts'
import { makeTemporaryFolder } from '../../helpers/temporary-folder.ts'

const rounds = 200

it(`A server killed ${rounds} times at random keeps every acknowledged write, uses no revision twice, and each watcher sees each event once.`, async (t) => {
  const { acknowledged } = await runCrashRounds(makeTemporaryFolder(t), rounds)
  assert.ok(acknowledged > rounds * 10, `only ${acknowledged} writes were acknowledged`)
})
