import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { canonicalQuantity } from '../../../src/model/canonical-quantity.ts'
import { parseQuantity, QuantityError } from '../../../src/model/quantity.ts'
import { quantityCases } from '../../helpers/quantity-cases.ts'

test('a quantity is written as kube-apiserver writes it', () => {
  for (const [written, canonical] of quantityCases) assert.equal(canonicalQuantity(String(written)), canonical)
})

test('a zero has one form, whatever its sign and suffix', () => {
  for (const zero of ['0', '00', '-0', '+0', '0.0', '0m', '0Gi', '0e3', '.0k'])
    assert.equal(canonicalQuantity(zero), '0')
})

test('a negative quantity rounds away from zero', () => {
  assert.equal(canonicalQuantity('-1000m'), '-1')
  assert.equal(canonicalQuantity('-0.1n'), '-1n')
  assert.equal(canonicalQuantity('-1.5Gi'), '-1536Mi')
})

test('an amount beyond the largest suffix stays as it is written', () => {
  assert.equal(canonicalQuantity('1000E'), '1000E')
})

test('what is no quantity is an error that says so', () => {
  assert.throws(() => canonicalQuantity('1 Gi'), QuantityError)
})

test('the canonical form has the same value, and is canonical', () => {
  const suffix = fc.constantFrom('', 'm', 'u', 'n', 'k', 'M', 'G', 'T', 'Ki', 'Mi', 'Gi', 'Ti', 'e3', 'e-3', 'E2', 'e1')
  const number = fc.stringMatching(/^[0-9]{1,6}(\.[0-9]{1,6})?$/)
  fc.assert(
    fc.property(fc.constantFrom('', '-', '+'), number, suffix, (sign, digits, unit) => {
      const canonical = canonicalQuantity(sign + digits + unit)
      assert.equal(parseQuantity(canonical), parseQuantity(sign + digits + unit))
      assert.equal(canonicalQuantity(canonical), canonical)
    }),
  )
})
