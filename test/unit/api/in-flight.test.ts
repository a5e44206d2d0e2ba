import assert from 'node:assert/strict'
import { test } from 'node:test'
import { InFlight } from '../../../src/api/in-flight.ts'
import { StatusError } from '../../../src/api/status.ts'

test('the write past the limit is a 429 that says when to come back; reads and watches go on; places are given back', async () => {
  const inFlight = new InFlight()
  const { promise, resolve } = Promise.withResolvers<void>()
  const writes = Array.from({ length: 200 }, () => inFlight.run('create', () => promise))
  await assert.rejects(
    inFlight.run('delete', async () => {}),
    (error) => error instanceof StatusError && error.httpCode === 429 && error.details?.retryAfterSeconds === 1,
  )
  assert.equal(await inFlight.run('list', async () => 'read'), 'read')
  assert.equal(await inFlight.run('watch', async () => 'watch'), 'watch')
  resolve()
  await Promise.all(writes)
  assert.equal(await inFlight.run('patch', async () => 'write'), 'write')
})
