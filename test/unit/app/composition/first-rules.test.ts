import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { FirstRules } from '../../../../src/app/composition/first-rules.ts'

/** Whether the promise has resolved by now. */
async function isDone(promise: Promise<void>): Promise<boolean> {
  let done = false
  void promise.then(() => {
    done = true
  })
  await setImmediate()
  return done
}

test('what follows the first rules of a family waits for those of the other family', async () => {
  const firstRules = new FirstRules(['IPv4', 'IPv6'])
  const ofIpv6 = firstRules.complete('IPv6')
  assert.equal(await isDone(ofIpv6), false)
  assert.equal(await isDone(firstRules.complete('IPv6')), false)
  await firstRules.complete('IPv4')
  assert.equal(await isDone(ofIpv6), true)
})

test('a node of one family waits for nothing', async () => {
  await new FirstRules(['IPv4']).complete('IPv4')
})

test('a family that fails keeps the other one waiting for some seconds at most', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const firstRules = new FirstRules(['IPv4', 'IPv6'], 5_000)
  const done = firstRules.complete('IPv4')
  t.mock.timers.tick(4_999)
  assert.equal(await isDone(done), false)
  t.mock.timers.tick(1)
  assert.equal(await isDone(done), true)
})
