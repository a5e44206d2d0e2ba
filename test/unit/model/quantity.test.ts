import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { parseQuantity, QuantityError } from '../../../src/model/quantity.ts'

describe('a quantity in thousandths', () => {
  const known: readonly [string, bigint][] = [
    ['1', 1_000n],
    ['500m', 500n],
    ['1.5', 1_500n],
    ['.5', 500n],
    ['2Ki', 2_048_000n],
    ['1.5Gi', 1_610_612_736_000n],
    ['1k', 1_000_000n],
    ['1e3', 1_000_000n],
    ['1E', 1_000_000_000_000_000_000_000n],
    ['100n', 1n],
    ['0', 0n],
    ['-250m', -250n],
    ['+3', 3_000n],
  ]
  for (const [text, expected] of known)
    test(`${text} is ${expected}`, () => assert.equal(parseQuantity(text), expected))

  for (const text of ['', '.', '1 Gi', '1Kib', 'abc', '1e99', '--1', '1.2.3']) {
    test(`${JSON.stringify(text)} is refused`, () => assert.throws(() => parseQuantity(text), QuantityError))
  }
})
