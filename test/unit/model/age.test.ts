import assert from 'node:assert/strict'
import { test } from 'node:test'
import { formatAge } from '../../../src/model/age.ts'

test('ages have the form of kubectl', () => {
  const [minute, hour, day] = [60, 3600, 86_400]
  const table: readonly (readonly [seconds: number, text: string])[] = [
    [-3600, '<invalid>'],
    [-1, '0s'],
    [0, '0s'],
    [119, '119s'],
    [2 * minute, '2m'],
    [3 * minute + 20, '3m20s'],
    [12 * minute + 5, '12m'],
    [179 * minute, '179m'],
    [3 * hour, '3h'],
    [5 * hour + 10 * minute, '5h10m'],
    [23 * hour, '23h'],
    [47 * hour, '47h'],
    [2 * day + 4 * hour, '2d4h'],
    [40 * day, '40d'],
    [3 * 365 * day, '3y'],
  ]
  for (const [seconds, text] of table) assert.equal(formatAge(seconds * 1000), text)
})
