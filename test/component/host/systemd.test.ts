import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createNotifier } from '../../../src/host/systemd.ts'
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
  await createNotifier(log, { NOTIFY_SOCKET: '/nonexistent/plt.sock' }).status('line\nbreak')
  assert.equal(messages.length, 1)
})
