import fc from 'fast-check'
import { listOf, mapOf, object, type Schema, text } from '../../src/api/schema/schema.ts'
import type { Json, JsonObject } from '../../src/model/api-object.ts'

const integer: Schema = { type: 'integer' }
const port = object({ port: integer, protocol: { ...text, default: 'TCP' }, name: text })

/** One field of each way to own: a leaf, an object, maps, and lists by key, as sets and whole. */
export const widgetSchema: Schema = object({
  apiVersion: text,
  kind: text,
  metadata: object({ name: text, labels: mapOf(text), annotations: mapOf(text) }),
  spec: object({
    size: integer,
    options: mapOf(text),
    sealed: { ...mapOf(text), mapType: 'atomic' },
    ports: { ...listOf(port), listType: 'map', listMapKeys: ['port', 'protocol'] },
    tags: { ...listOf(text), listType: 'set' },
    args: listOf(text),
  }),
  open: { type: 'object', preserveUnknownFields: true },
})

const word = fc.constantFrom('a', 'b', 'c')
const words = fc.dictionary(word, word, { maxKeys: 3, noNullPrototype: true })

function partial(shape: Record<string, fc.Arbitrary<Json>>): fc.Arbitrary<JsonObject> {
  return fc.record(shape, { requiredKeys: [], noNullPrototype: true }) as fc.Arbitrary<JsonObject>
}

const ports = fc.uniqueArray(
  fc.record(
    { port: fc.integer({ min: 1, max: 3 }), protocol: fc.constantFrom('TCP', 'UDP'), name: word },
    { noNullPrototype: true },
  ),
  { selector: ({ port, protocol }) => `${port}/${protocol}`, maxLength: 3 },
)

/** What someone may apply to a widget: no list item twice. */
export const widgets: fc.Arbitrary<JsonObject> = partial({
  spec: partial({
    size: fc.integer({ min: 0, max: 3 }),
    options: words,
    sealed: words,
    ports: ports as fc.Arbitrary<Json>,
    tags: fc.uniqueArray(word, { maxLength: 3 }),
    args: fc.array(word, { maxLength: 3 }),
  }),
  open: words,
}).map((fields) => ({ apiVersion: 'v1', kind: 'Widget', metadata: { name: 'w' }, ...fields }))
