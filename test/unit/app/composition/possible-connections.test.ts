import assert from 'node:assert/strict'
import { test } from 'node:test'
import { possibleConnections } from '../../../../src/app/composition/possible-connections.ts'

test('haproxy gets as many connections as the hard limit of open files has room for', () => {
  const limits = (hard: string) => `Limit  Soft  Hard  Units\nMax open files            1024     ${hard}       files\n`
  assert.equal(possibleConnections(limits('20000')), 9_500)
  assert.equal(possibleConnections(limits('1024')), 100)
  assert.equal(possibleConnections(limits('unlimited')), Number.POSITIVE_INFINITY)
})
