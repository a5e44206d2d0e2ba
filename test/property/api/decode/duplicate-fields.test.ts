import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { findDuplicateFields } from '../../../../src/api/decode/duplicate-fields.ts'

/** JSON as text with its fields in the order of the text, some of them twice. */
type Node = { readonly fields: readonly (readonly [string, Node])[] } | { readonly items: readonly Node[] } | string

const key = fc.constantFrom('a', 'b', 'c"d', 'e{', '\\', 'ü', '__proto__')
const { node } = fc.letrec<{ node: Node }>((tie) => ({
  node: fc.oneof(
    { maxDepth: 4 },
    fc.jsonValue({ maxDepth: 0 }).map((value): Node => JSON.stringify(value)),
    fc.record({ fields: fc.array(fc.tuple(key, tie('node')), { maxLength: 4 }) }),
    fc.record({ items: fc.array(tie('node'), { maxLength: 3 }) }),
  ) as fc.Arbitrary<Node>,
}))

function render(value: Node): string {
  if (typeof value === 'string') return value
  if ('items' in value) return `[ ${value.items.map(render).join(' ,')}]`
  return `{${value.fields.map(([name, field]) => `${JSON.stringify(name)} : ${render(field)}`).join(',\n')} }`
}

/** What the scanner must find, computed from the tree instead of the text. */
function duplicatesOf(value: Node, path: string): readonly string[] {
  if (typeof value === 'string') return []
  if ('items' in value) return value.items.flatMap((item, index) => duplicatesOf(item, `${path}[${index}]`))
  return value.fields.flatMap(([name, field], index) => {
    const below = path === '' ? name : `${path}.${name}`
    const isDuplicate = value.fields.slice(0, index).some(([other]) => other === name)
    return [...(isDuplicate ? [below] : []), ...duplicatesOf(field, below)]
  })
}

describe('duplicate fields', () => {
  test('the scanner of the text agrees with the tree the text was made of', () => {
    fc.assert(
      fc.property(node, (value) => {
        const text = render(value)
        JSON.parse(text)
        assert.deepEqual(
          findDuplicateFields(text).map(({ path }) => path),
          [...new Set(duplicatesOf(value, ''))],
          text,
        )
      }),
      { numRuns: 500 },
    )
  })

  test('text that JSON.stringify wrote has none', () => {
    fc.assert(fc.property(fc.jsonValue(), (value) => assert.deepEqual(findDuplicateFields(JSON.stringify(value)), [])))
  })
})
