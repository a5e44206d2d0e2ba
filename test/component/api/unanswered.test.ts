import assert from 'node:assert/strict'
import { test } from 'node:test'
import { silentTracer } from '../../../src/observe/index.ts'
import { startTestServer } from '../../helpers/api-server.ts'
import { createRecordingLogger } from '../../helpers/recording-logger.ts'

test('A request whose handler throws is logged, its connection is closed, and the server goes on.', {
  timeout: 30_000,
}, async () => {
  const { log, lines } = createRecordingLogger()
  let isBroken = false
  const tracer = {
    ...silentTracer,
    get isOn(): boolean {
      if (isBroken) throw new Error('a fault made by the test')
      return false
    },
  }
  const server = await startTestServer({ log, tracer })
  try {
    isBroken = true
    await assert.rejects(server.call('GET', '/version'), /socket hang up|ECONNRESET/)
    isBroken = false
    assert.ok(lines.includes('error a request could not be answered'))
    assert.equal((await server.call('GET', '/version')).code, 200)
  } finally {
    await server.stop()
  }
})
