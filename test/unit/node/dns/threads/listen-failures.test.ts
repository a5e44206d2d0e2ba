import assert from 'node:assert/strict'
import { test } from 'node:test'
import { joinFailures } from '../../../../../src/node/dns/threads/listen-failures.ts'

test('an address counts as served while a thread that runs listens there', () => {
  const at = (port: number) => ({ address: '192.0.2.1', port, message: 'in use' })
  assert.deepEqual(joinFailures([]), [])
  assert.deepEqual(joinFailures([[], []]), [])
  assert.deepEqual(joinFailures([[], [at(53)]]), [{ ...at(53), isServed: true }])
  assert.deepEqual(joinFailures([[at(53)]]), [{ ...at(53), isServed: false }])
  assert.deepEqual(joinFailures([[at(53), at(54)], [at(53)]]), [
    { ...at(53), isServed: false },
    { ...at(54), isServed: true },
  ])
})
