import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { AnswerTotals, readCounters } from '../../../../../src/node/ingress/haproxy/counters.ts'

const shown = `# table: counters, type: string, size:16384, used:2
0x55b0: key=exact|default/shop use=0 exp=0 gpc0=9 gpc1=0 gpc26=2
0x55b1: key=none| use=0 exp=0 gpc0=0 gpc7=4
`

describe('Counters of answers', () => {
  test('are read from the table that haproxy shows, without those that are 0', () => {
    assert.deepEqual(readCounters(shown), [
      { host: 'exact', ingress: 'default/shop', code: '200', count: 9 },
      { host: 'exact', ingress: 'default/shop', code: '503', count: 2 },
      { host: 'none', code: '404', count: 4 },
    ])
  })

  test('of workers that follow each other add up, also of those that are gone', () => {
    const totals = new AnswerTotals()
    const one = (count: number) => [{ host: 'any' as const, ingress: 'a/b', code: '200', count }]
    totals.set(1, one(3))
    totals.set(1, one(5))
    totals.set(2, one(1))
    totals.keepOnly(new Set([2]))
    totals.set(2, one(4))
    assert.deepEqual(totals.totals(), one(9))
  })
})
