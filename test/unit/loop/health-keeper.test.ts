import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { HealthKeeper } from '../../../src/loop/health-keeper.ts'

describe('A health keeper', () => {
  test('keeps the time of a level while only its message differs', (context) => {
    context.mock.timers.enable({ apis: ['Date'], now: 1000 })
    const health = new HealthKeeper('unknown', 'not started')
    context.mock.timers.setTime(2000)
    assert.equal(health.set('unknown', 'waits'), true)
    assert.deepEqual(health.current, { level: 'unknown', message: 'waits', sinceMs: 1000 })
    assert.equal(health.set('ok'), true)
    assert.deepEqual(health.current, { level: 'ok', message: '', sinceMs: 2000 })
    assert.equal(health.set('ok'), false)
  })

  test('warns once of a failure that lasts, and again of another one and after a success', () => {
    const health = new HealthKeeper()
    const warned: string[] = []
    const fail = (message: string) => health.fail(new Error(message), () => warned.push(message), '; a remedy')
    fail('one')
    fail('one')
    assert.deepEqual([health.current.level, health.current.message], ['degraded', 'one; a remedy'])
    fail('two')
    health.set('ok')
    fail('two')
    assert.deepEqual(warned, ['one', 'two', 'two'])
  })
})
