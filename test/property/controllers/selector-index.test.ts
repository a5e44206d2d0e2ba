import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { SelectorIndex } from '../../../src/controllers/runtime/selector-index.ts'

const anyLabels = fc.dictionary(fc.constantFrom('a', 'b', 'c'), fc.constantFrom('', '1', '2'), { maxKeys: 3 })
const anyChange = fc.record({
  name: fc.constantFrom('x', 'y', 'z'),
  namespace: fc.constantFrom('n', 'm'),
  selector: fc.option(fc.option(anyLabels, { nil: undefined }), { nil: 'gone' as const }),
})

interface Selecting {
  readonly metadata: { readonly name: string; readonly namespace: string; uid: string; resourceVersion: string }
  readonly selector: Readonly<Record<string, string>> | undefined
}

test('an index of selectors finds after any changes whom a look at all finds', () => {
  fc.assert(
    fc.property(fc.array(anyChange, { maxLength: 20 }), fc.array(anyLabels, { maxLength: 5 }), (changes, asked) => {
      const index = new SelectorIndex<Selecting>(({ selector }) => selector)
      const objects = new Map<string, Selecting>()
      for (const { name, namespace, selector } of changes) {
        const key = `${namespace}/${name}`
        const metadata = { name, namespace, uid: key, resourceVersion: '1' }
        const next = selector === 'gone' ? undefined : { metadata, selector }
        index.change(objects.get(key), next)
        if (next === undefined) objects.delete(key)
        else objects.set(key, next)
      }
      for (const labels of asked) {
        const selects = ({ metadata, selector }: Selecting) =>
          metadata.namespace === 'n' &&
          selector !== undefined &&
          Object.entries(selector).every(([key, value]) => labels[key] === value)
        assert.deepEqual(new Set(index.matching('n', labels)), new Set([...objects.values()].filter(selects)))
      }
    }),
  )
})
