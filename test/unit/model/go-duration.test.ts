import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseGoDuration, parseGoNanos } from '../../../src/model/go-duration.ts'

test('a duration of Go is read to the nanosecond', () => {
  const cases: readonly (readonly [text: string, nanos: bigint])[] = [
    ['0', 0n],
    ['-0', 0n],
    ['+5s', 5_000_000_000n],
    ['1h30m', 5_400_000_000_000n],
    ['-1.5s', -1_500_000_000n],
    ['.5ms', 500_000n],
    ['1.s', 1_000_000_000n],
    ['1µs2us3μs', 6_000n],
    ['0.9ns', 0n],
    ['0.0000000000003h', 1n],
    ['1s1h', 3_601_000_000_000n],
    ['00000000000000000000001ns', 1n],
    ['9223372036854775807ns', 2n ** 63n - 1n],
    ['-9223372036854775808ns', -(2n ** 63n)],
  ]
  for (const [text, nanos] of cases) assert.equal(parseGoNanos(text), nanos, text)
  assert.equal(parseGoDuration('1.5s'), 1500)
  assert.equal(parseGoDuration('-250us'), -0.25)
})

test('what is no duration is refused in the words of Go', () => {
  const cases: readonly (readonly [text: string, problem: string])[] = [
    ['', 'invalid duration ""'],
    ['+', 'invalid duration "+"'],
    ['--1s', 'invalid duration "--1s"'],
    ['.s', 'invalid duration ".s"'],
    ['s', 'invalid duration "s"'],
    ['1h30', 'missing unit in duration "1h30"'],
    ['5 s', 'unknown unit " s" in duration "5 s"'],
    ['1d', 'unknown unit "d" in duration "1d"'],
    ['1constructor', 'unknown unit "constructor" in duration "1constructor"'],
    ['9223372036854775808ns', 'invalid duration "9223372036854775808ns"'],
    ['2562048h', 'invalid duration "2562048h"'],
  ]
  for (const [text, problem] of cases) assert.equal(parseGoNanos(text), `time: ${problem}`, text)
})

test('the time that a long text takes grows with its length alone', () => {
  const startedMs = performance.now()
  assert.equal(typeof parseGoNanos(`${'9'.repeat(1e6)}s`), 'string')
  assert.equal(parseGoNanos(`1.${'0'.repeat(1e6)}s`), 1_000_000_000n)
  assert.ok(performance.now() - startedMs < 5_000)
})
