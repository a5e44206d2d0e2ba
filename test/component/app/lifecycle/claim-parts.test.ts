import assert from 'node:assert/strict'
import path from 'node:path'
import { test } from 'node:test'
import { runProgram } from '../../../../src/host/index.ts'
import { skipReason } from '../../../helpers/netns.ts'

test('a part of a network namespace has one agent: a second one is refused with its pid, or waits for its end', {
  skip: skipReason('unshare'),
}, async () => {
  const program = path.join(import.meta.dirname, 'claim-parts.program.ts')
  const { stdout } = await runProgram('unshare', ['--net', process.execPath, program], { timeoutMs: 30_000 })
  const { pid, ...answers } = JSON.parse(stdout)
  const refusalOf = (part: string) => `another agent (pid ${pid}) has the part ${part} of this network namespace`
  assert.deepEqual(answers, {
    found: { part: 'proxy', holder: { pid, uid: 0 } },
    refused: refusalOf('dns'),
    refusedRun: refusalOf('proxy'),
    beside: 'claimed',
    afterItsEnd: 'claimed',
  })
})
