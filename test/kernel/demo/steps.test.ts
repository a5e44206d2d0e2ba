import assert from 'node:assert/strict'
import { resolve } from 'node:path'
import { test } from 'node:test'
import { runIsolated } from '../../../src/demo/isolate.ts'
import { stepsByHand } from './steps-by-hand.ts'

test('every step of the demo but the Ingress holds over rules written by hand', async () => {
  const program = resolve(import.meta.dirname, 'steps.program.ts')
  const { exitCode, stdout } = await runIsolated(program, [], { signal: AbortSignal.timeout(120_000), stdout: 'pipe' })
  assert.equal(exitCode, 0)
  const lines = stdout.trimEnd().split('\n')
  assert.deepEqual(
    lines.map((line) => line.split(' | ')[0]),
    stepsByHand.map((step) => `✔ ${step.title}`),
    stdout,
  )
})
