import assert from 'node:assert/strict'
import { it } from 'node:test'
import fc from 'fast-check'
import { SortedKeys } from '../../../../src/api/store/sorted-keys.ts'

const keys = fc.string({ unit: fc.constantFrom('a', 'b', '/', '~'), maxLength: 4 })

function assertSame(sorted: SortedKeys, model: ReadonlySet<string>, start: string): void {
  assert.deepEqual([...sorted.from(start)], [...model].filter((key) => key >= start).toSorted())
}

it('Sorted keys hold what a sorted set holds, whatever is added, deleted and asked for.', () => {
  const change = fc.record({ isAdd: fc.boolean(), key: keys })
  fc.assert(
    fc.property(fc.array(change, { maxLength: 200 }), keys, (changes, start) => {
      const sorted = new SortedKeys()
      const model = new Set<string>()
      for (const { isAdd, key } of changes) {
        if (isAdd) model.add(key)
        else model.delete(key)
        if (isAdd) sorted.add(key)
        else sorted.delete(key)
      }
      assertSame(sorted, model, start)
      assertSame(sorted, model, '')
    }),
  )
})

it('Blocks split and vanish without losing a key.', () => {
  fc.assert(
    fc.property(
      fc.shuffledSubarray(
        Array.from({ length: 3000 }, (_, index) => `${index}`),
        { minLength: 1500 },
      ),
      (some) => {
        const sorted = new SortedKeys()
        for (const key of some) sorted.add(key)
        for (const key of some) sorted.add(key)
        assertSame(sorted, new Set(some), '2')
        for (const key of some.slice(0, -5)) sorted.delete(key)
        assertSame(sorted, new Set(some.slice(-5)), '')
      },
    ),
    { numRuns: 10 },
  )
})
