import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { ExclusiveOperations } from '../../../../src/node/rules/exclusive-operations.ts'

describe('the operations of a writer', () => {
  test('run one at a time in the order of their calls, also after one that failed', async () => {
    const operations = new ExclusiveOperations({ healthNow: () => undefined })
    const steps: string[] = []
    const first = Promise.withResolvers<void>()
    const failing = operations.run(async () => {
      steps.push('first begins')
      await first.promise
      throw new Error('refused')
    })
    const second = operations.run(() => steps.push('second'))
    const idle = operations.idle().then(() => steps.push('idle'))
    first.resolve()
    await assert.rejects(failing, /refused/)
    await Promise.all([second, idle])
    assert.deepEqual(steps, ['first begins', 'second', 'idle'])
  })

  test('keep the health of the last one, and the time since which its level is so', async () => {
    const failures: unknown[] = []
    let message: string | undefined = 'in place'
    const operations = new ExclusiveOperations({
      healthNow: () => (message === undefined ? undefined : { level: 'ok', message }),
      onFailure: (error) => failures.push(error),
    })
    assert.deepEqual([operations.health.level, operations.health.sinceMs], ['unknown', 0])
    await operations.run(() => {})
    const { sinceMs } = operations.health
    message = 'in place, compared'
    await operations.run(() => {})
    assert.deepEqual(operations.health, { level: 'ok', message, sinceMs })
    const error = new Error('nft refused')
    await assert.rejects(operations.run(() => Promise.reject(error)))
    assert.deepEqual(
      [operations.health.level, operations.health.message, failures],
      ['degraded', 'nft refused', [error]],
    )
    message = undefined
    await operations.run(() => {})
    assert.equal(operations.health.level, 'degraded', 'a success that says nothing of the rules leaves it')
  })
})
