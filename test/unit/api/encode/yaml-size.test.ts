import assert from 'node:assert/strict'
import { test } from 'node:test'
import { load } from 'js-yaml'
import { toYaml, toYamlItem } from '../../../../src/api/encode/yaml.ts'

function nested(levels: number): unknown {
  return levels === 0 ? 'end' : { a: [nested(levels - 1)] }
}

const costly = [
  { what: 'long texts', value: { data: { a: 'x\n'.repeat(300_000) } } },
  { what: 'many keys', value: Object.fromEntries(Array.from({ length: 20_000 }, (_, index) => [`key-${index}`, ''])) },
  { what: 'many levels', value: nested(450) },
]

for (const { what, value } of costly) {
  test(`An object of ${what} is written as YAML in a few milliseconds, and means the same.`, () => {
    const json = JSON.stringify(value)
    toYaml('{"a":1}')
    let tookMs = Number.POSITIVE_INFINITY
    // Lines of its own took 300 to 3,000 ms. A busy machine may stop us in one try.
    for (let tries = 0; tries < 5 && tookMs >= 100; tries += 1) {
      const startedMs = performance.now()
      toYaml(json)
      toYamlItem(json)
      tookMs = performance.now() - startedMs
    }
    assert.ok(tookMs < 100, `${tookMs} ms`)
    assert.deepEqual(load(toYaml(json), { maxDepth: 2_000 }), value)
    assert.deepEqual(load(`items:\n${toYamlItem(json)}`, { maxDepth: 2_000 }), { items: [value] })
  })
}

test('Other objects have lines of their own.', () => {
  assert.equal(toYaml('{"a":{"b":["yes"]}}'), "a:\n  b:\n    - 'yes'\n")
})
