import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import path from 'node:path'
import { test } from 'node:test'
import { skipReason } from '../../helpers/netns.ts'

const script = path.join(import.meta.dirname, '../../../src/host/nft-events.pl')

test('the listener for changes of rules ends with the process that reads it, also while no rule changes', {
  skip: skipReason('perl', 'unshare'),
}, async (test) => {
  const listener = spawn('unshare', ['--net', 'perl', script, 'platnet'], { stdio: ['ignore', 'pipe', 'inherit'] })
  test.after(() => listener.kill('SIGKILL'))
  const ended = once(listener, 'exit', { signal: AbortSignal.timeout(30_000) })
  ended.catch(() => {})
  const [first] = await once(listener.stdout, 'data')
  assert.equal(String(first), 'gap\n')
  // What the kernel does with the end of an agent that is killed.
  listener.stdout.destroy()
  assert.deepEqual(await ended, [0, null])
})
