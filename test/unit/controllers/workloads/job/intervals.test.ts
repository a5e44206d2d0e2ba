import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import {
  countCommon,
  countOf,
  firstMissing,
  formatIntervals,
  includes,
  intervalsOf,
  parseIntervals,
  union,
} from '../../../../../src/controllers/workloads/job/intervals.ts'

describe('intervals of indexes', () => {
  test('are written as they are read, neighbours with a comma and longer runs with a dash', () => {
    assert.equal(formatIntervals(intervalsOf([7, 0, 1, 4, 5, 6, 9])), '0,1,4-7,9')
    assert.equal(formatIntervals(parseIntervals('0,1,4-7,9', 10)), '0,1,4-7,9')
  })

  test('leave out what is no index of the Job', () => {
    assert.deepEqual(parseIntervals('0-4,7,x,9-', 3), [[0, 2]])
    assert.deepEqual(parseIntervals('', 3), [])
  })

  test('merge where they overlap or touch', () => {
    assert.deepEqual(
      union(
        [[0, 2]],
        [
          [3, 4],
          [8, 9],
        ],
      ),
      [
        [0, 4],
        [8, 9],
      ],
    )
    assert.equal(
      countOf([
        [0, 4],
        [8, 9],
      ]),
      7,
    )
    assert.equal(
      countCommon(
        [
          [0, 4],
          [8, 9],
        ],
        [[4, 8]],
      ),
      2,
    )
    assert.ok(includes([[3, 5]], 5))
    assert.ok(!includes([[3, 5]], 6))
  })

  test('name the lowest missing indexes', () => {
    assert.deepEqual(
      firstMissing(
        [
          [0, 1],
          [3, 3],
        ],
        3,
        6,
      ),
      [2, 4, 5],
    )
    assert.deepEqual(firstMissing([], 2, 6), [0, 1])
    assert.deepEqual(firstMissing([[0, 5]], 2, 6), [])
  })

  test('hold, count and share what sets of the same indexes do', () => {
    const indexes = fc.array(fc.nat(40))
    fc.assert(
      fc.property(indexes, indexes, fc.integer({ min: -1, max: 42 }), (some, others, asked) => {
        const [one, other] = [new Set(some), new Set(others)]
        assert.equal(includes(intervalsOf(one), asked), one.has(asked))
        assert.equal(countOf(intervalsOf(one)), one.size)
        assert.equal(countCommon(intervalsOf(one), intervalsOf(other)), one.intersection(other).size)
      }),
    )
  })
})
