import assert from 'node:assert/strict'
import { it } from 'node:test'
import { findAnomalies, type VersionedOperation } from '../../helpers/versioned-history.ts'

const shown = [
  { key: 'a', version: 1, value: 'first' },
  { key: 'a', version: 5, value: 'x' },
  { key: 'a', version: 9, value: 'y' },
]

function write(
  calledMs: number,
  answeredMs: number,
  version: number,
  value: string,
  expected: number,
): VersionedOperation {
  return { key: 'a', calledMs, answeredMs, effect: { kind: 'write', version, value, expected } }
}

function read(calledMs: number, answeredMs: number, version: number, value: string): VersionedOperation {
  return { key: 'a', calledMs, answeredMs, effect: { kind: 'read', version, value } }
}

const x = write(0, 10, 5, 'x', 1)
const y = write(20, 30, 9, 'y', 5)

it('A history in which each operation may have happened between call and answer has no anomaly.', () => {
  const conflict: VersionedOperation = {
    key: 'a',
    calledMs: 0,
    answeredMs: 25,
    effect: { kind: 'conflict', expected: 5 },
  }
  const unanswered = { ...y, answeredMs: Number.POSITIVE_INFINITY }
  assert.deepEqual(findAnomalies([x, y, read(12, 40, 5, 'x'), read(12, 40, 9, 'y'), conflict], shown), [])
  assert.deepEqual(findAnomalies([x, unanswered, read(21, 22, 9, 'y'), read(50, 60, 9, 'y')], shown), [])
})

it('A stale read, a lost or blind write, a wrong value and a conflict without a rival are found.', () => {
  const falseConflict: VersionedOperation = {
    key: 'a',
    calledMs: 11,
    answeredMs: 15,
    effect: { kind: 'conflict', expected: 5 },
  }
  const histories: readonly (readonly VersionedOperation[])[] = [
    [x, y, read(31, 32, 5, 'x')],
    [x, read(11, 12, 1, 'first')],
    [x, y, write(40, 50, 7, 'lost', 5)],
    [write(20, 30, 9, 'y', 1)],
    [x, read(12, 13, 5, 'y')],
    [x, y, falseConflict],
    [y, write(40, 50, 5, 'x', 1)],
  ]
  for (const [index, history] of histories.entries())
    assert.notDeepEqual(findAnomalies(history, shown), [], `history ${index}`)
})
