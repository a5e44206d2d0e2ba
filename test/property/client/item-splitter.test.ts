import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { ItemSplitter } from '../../../src/client/item-splitter.ts'
import { cutAt, cuts, jsonObjects } from '../../helpers/chunks.ts'

const lists = fc.record({ items: fc.array(jsonObjects, { maxLength: 6 }), before: jsonObjects, after: jsonObjects })

/** A list as a server writes it: other members, also ones that look like items, before and after. */
function textOf({ items, before, after }: { items: unknown[]; before: object; after: object }, indent: number): string {
  return JSON.stringify({ kind: 'List', before: { items: [before] }, more: [[before]], items, after }, null, indent)
}

describe('the item splitter', () => {
  it('gives the items and a list without them, however the bytes are cut and indented', () => {
    fc.assert(
      fc.property(lists, cuts, fc.constantFrom(0, 2), (list, places, indent) => {
        const text = textOf(list, indent)
        const splitter = new ItemSplitter()
        const items = cutAt(Buffer.from(text), places).flatMap((chunk) => [...splitter.push(chunk)])
        assert.deepEqual(
          items.map((item) => item.kind === 'text' && JSON.parse(item.text)),
          JSON.parse(text).items,
        )
        assert.deepEqual(JSON.parse(splitter.end()), { ...JSON.parse(text), items: [] })
      }),
    )
  })

  it('ends every text without an exception of its own kind', () => {
    fc.assert(
      fc.property(fc.array(fc.constantFrom('{', '}', '[', ']', '"items":', '"', ',', '\\', '1', ' ')), (tokens) => {
        const splitter = new ItemSplitter()
        try {
          for (const item of splitter.push(Buffer.from(tokens.join('')))) assert.equal(item.kind, 'text')
          splitter.end()
        } catch (error) {
          assert.ok(error instanceof Error && 'code' in error && error.code === 'bad-response', String(error))
        }
      }),
    )
  })
})
