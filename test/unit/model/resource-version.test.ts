import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { compareResourceVersions, isResourceVersion } from '../../../src/model/resource-version.ts'

describe('resourceVersions', () => {
  it('compare as integers of any length', () => {
    const digits = fc.bigInt({ min: 0n, max: 10n ** 40n })
    fc.assert(
      fc.property(digits, digits, (a, b) => {
        assert.equal(Math.sign(compareResourceVersions(`${a}`, `${b}`)), a < b ? -1 : a > b ? 1 : 0)
      }),
    )
  })

  it('are decimal without leading zeros', () => {
    for (const good of ['0', '7', '10', '9'.repeat(50)]) assert.ok(isResourceVersion(good), good)
    for (const bad of ['', '01', '-1', '1.0', '1e3', ' 1', '1\n', '٣']) assert.ok(!isResourceVersion(bad), bad)
  })
})
