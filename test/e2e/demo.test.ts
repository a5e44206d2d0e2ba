import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { resolve } from 'node:path'
import { test } from 'node:test'
import { steps } from '../../src/demo/steps.ts'
import { skipReason } from '../helpers/netns.ts'

const main = resolve(import.meta.dirname, '../../src/main.ts')

/** What the demo printed, and how it ended. */
function runDemo(): Promise<{ exitCode: number | null; said: string }> {
  return new Promise((resolve) => {
    const demo = execFile(
      process.execPath,
      [main, 'demo', '--seconds', '2'],
      { timeout: 300_000 },
      (_, stdout, stderr) => resolve({ exitCode: demo.exitCode, said: `${stdout}\n${stderr}` }),
    )
  })
}

test('the demo shows every promise held', {
  skip: skipReason('iptables', 'nft', 'ip', 'conntrack', '/usr/lib/cni/bridge'),
}, async () => {
  const { exitCode, said } = await runDemo()
  assert.equal(exitCode, 0, said)
  for (const step of steps) assert.ok(said.includes(`✔ ${step.title} |`), `${step.title}:\n${said}`)
  assert.match(said, new RegExp(`^${steps.length} of ${steps.length} held`, 'm'))
})
