import assert from 'node:assert/strict'
import { test } from 'node:test'
import { chooseEncoding } from '../../../src/console/pages.ts'

test('The best encoding that the browser takes is chosen; q=0 refuses one.', () => {
  const cases = [
    ['gzip, deflate, br', 'br'],
    ['gzip;q=1.0, br;q=0', 'gzip'],
    ['GZIP', 'gzip'],
    ['br;q=0.000, gzip;q=0', 'identity'],
    ['deflate', 'identity'],
    [undefined, 'identity'],
  ] as const
  for (const [accepted, chosen] of cases) assert.equal(chooseEncoding(accepted), chosen, accepted ?? 'nothing')
})
