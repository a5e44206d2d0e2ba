import assert from 'node:assert/strict'
import { it } from 'node:test'
import { makeTemporaryFolder } from '../../helpers/temporary-folder.ts'
import { runCrashRounds } from './crash-rounds.ts'

const rounds = 20

it(`A server killed ${rounds} times at random keeps every acknowledged write, uses no revision twice, and each watcher sees each event once.`, async (t) => {
  const { acknowledged } = await runCrashRounds(makeTemporaryFolder(t), rounds)
  // A machine that others use has acknowledged 8 a round; 100 and more are usual.
  assert.ok(acknowledged > rounds * 3, `only ${acknowledged} writes were acknowledged`)
})
