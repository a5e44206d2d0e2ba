import assert from 'node:assert/strict'
import { resolve } from 'node:path'
import { test } from 'node:test'
import { steps } from '../../src/demo/steps.ts'
import { ExecError, runProgram } from '../../src/host/index.ts'
import { skipReason } from '../helpers/netns.ts'

const main = resolve(import.meta.dirname, '../../src/main.ts')

/** What the demo printed, and how it ended. */
async function runDemo(): Promise<{ exitCode: number | undefined; said: string }> {
  try {
    const { stdout } = await runProgram(process.execPath, [main, 'demo', '--seconds', '2'], { timeoutMs: 300_000 })
    return { exitCode: 0, said: stdout }
  } catch (thrown) {
    if (!(thrown instanceof ExecError)) throw thrown
    return { exitCode: thrown.exitCode, said: `${thrown.message}\n${thrown.stderr}` }
  }
}

test('the demo shows every promise held', {
  skip: skipReason('iptables', 'nft', 'ip', 'conntrack', '/usr/lib/cni/bridge'),
}, async () => {
  const { exitCode, said } = await runDemo()
  assert.equal(exitCode, 0, said)
  for (const step of steps) assert.ok(said.includes(`✔ ${step.title} |`), `${step.title}:\n${said}`)
  assert.match(said, new RegExp(`^${steps.length} of ${steps.length} held`, 'm'))
})
