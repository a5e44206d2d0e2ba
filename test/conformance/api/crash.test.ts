import assert from 'node:assert/strict'
import { it } from 'node:test'
import { makeTemporaryFolder } from '../../helpers/temporary-folder.ts'
import { runCrashRounds } from './crash-rounds.ts'

const rounds = 20

it(`A server killed ${rounds} times at random keeps every acknowledged write, uses no revision twice, and each watcher sees each event once.`, async (t) => {
  const { acknowledged } = await runCrashRounds(makeTemporaryFolder(t), rounds)
  // At a load of 15 on two processors a round acknowledged 8.
  assert.ok(acknowledged > rounds * 3, `only ${acknowledged} writes were acknowledged`)
})
