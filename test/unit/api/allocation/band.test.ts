import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type Band, findFree } from '../../../../src/api/allocation/band.ts'

const band: Band = { first: 1n, dynamicFirst: 11n, last: 14n, reserved: new Set([3n]) }
const numbers = (first: number, count: number) => Array.from({ length: count }, (_, index) => BigInt(first + index))

/** Picks in an order that a seed fixes (a linear congruential generator). */
function seeded(): (limit: number) => number {
  let state = 1
  return (limit) => {
    state = (state * 48_271) % 2_147_483_647
    return state % limit
  }
}

function find(taken: readonly bigint[], pickBelow: (limit: number) => number): Promise<bigint | undefined> {
  const set = new Set(taken)
  return findFree(
    band,
    async (value) => set.has(value),
    async () => set,
    pickBelow,
  )
}

describe('the choice of a free number', () => {
  it('spreads over all that are free, also when the dynamic numbers are used up', async () => {
    for (const [taken, free] of [
      [[], numbers(11, 4)],
      [numbers(11, 4), numbers(1, 10).filter((value) => value !== 3n)],
      [
        [...numbers(11, 4), ...numbers(5, 6)],
        [1n, 2n, 4n],
      ],
    ] as const) {
      const pickBelow = seeded()
      const found = new Set<bigint | undefined>()
      for (let round = 0; round < 200; round++) found.add(await find(taken, pickBelow))
      assert.deepEqual([...found].sort(), [...free].sort())
    }
  })

  it('finds the last free number wherever it begins, and none in a full band', async () => {
    const all = numbers(1, 14).filter((value) => value !== 3n)
    for (const last of all) {
      const taken = all.filter((value) => value !== last)
      for (let start = 0; start < 20; start++) assert.equal(await find(taken, (limit) => start % limit), last)
    }
    assert.equal(await find(all, seeded()), undefined)
  })

  it('works in a band without dynamic numbers and in one of one number', async () => {
    const without = { first: 5n, dynamicFirst: 7n, last: 6n, reserved: new Set<bigint>() }
    const free = async () => false
    assert.ok([5n, 6n].includes((await findFree(without, free, async () => new Set(), seeded())) ?? 0n))
    const one = { first: 5n, dynamicFirst: 5n, last: 5n, reserved: new Set<bigint>() }
    assert.equal(await findFree(one, free, async () => new Set(), seeded()), 5n)
  })
})
