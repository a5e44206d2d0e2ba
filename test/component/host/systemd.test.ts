import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Run } from '../../../src/host/index.ts'
import { createNotifier, readWatchdogMs } from '../../../src/host/systemd.ts'
import { type Logger, silentLogger } from '../../../src/observe/logger.ts'

function warnings(): { log: Logger; messages: string[] } {
  const messages: string[] = []
  return { messages, log: { ...silentLogger, warn: (message) => void messages.push(message) } }
}

test('outside systemd nothing is sent and nothing is said', async () => {
  const { log, messages } = warnings()
  const notifier = createNotifier(log, {})
  await notifier.ready('up')
  await notifier.stopping()
  assert.deepEqual(messages, [])
})

test('a socket without a listener is a warning, never a failure', async () => {
  const { log, messages } = warnings()
  await createNotifier(log, { NOTIFY_SOCKET: '/nonexistent/plt.sock' }).ready('line\nbreak')
  assert.equal(messages.length, 1)
})

test('a beat has the status line only where it has changed', async () => {
  const calls: (readonly string[])[] = []
  const run: Run = async (_, args) => {
    calls.push(args)
    return { endedBy: 'exit', exitCode: 0, stdout: '', stderr: '', durationMs: 0 }
  }
  const notifier = createNotifier(silentLogger, { NOTIFY_SOCKET: '/run/socket' }, run)
  for (const status of ['one', 'one', 'two']) await notifier.alive(status)
  assert.deepEqual(calls, [['--status=one', 'WATCHDOG=1'], ['WATCHDOG=1'], ['--status=two', 'WATCHDOG=1']])
})

test('the watchdog time is that of this process, in milliseconds', () => {
  assert.equal(readWatchdogMs({}), undefined)
  assert.equal(readWatchdogMs({ WATCHDOG_USEC: '60000000' }), 60_000)
  assert.equal(readWatchdogMs({ WATCHDOG_USEC: '60000000', WATCHDOG_PID: String(process.pid) }), 60_000)
  assert.equal(readWatchdogMs({ WATCHDOG_USEC: '60000000', WATCHDOG_PID: '1' }), undefined)
  assert.equal(readWatchdogMs({ WATCHDOG_USEC: 'soon' }), undefined)
})
