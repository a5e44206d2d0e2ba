/** Schemas of definitions, accepted and refused ones, for a comparison with kube-apiserver. */

type Part = Record<string, unknown>

const [preserve, listType, listKeys] = [
  extension('preserve-unknown-fields'),
  extension('list-type'),
  extension('list-map-keys'),
]
const [mapType, embedded, intOrString] = [
  extension('map-type'),
  extension('embedded-resource'),
  extension('int-or-string'),
]
const rules = extension('validations')

function extension(name: string): string {
  return `x-kubernetes-${name}`
}

export const text: Part = { type: 'string' }

export function object(properties: Part, more: Part = {}): Part {
  return { type: 'object', properties, ...more }
}

function list(items: Part, more: Part = {}): Part {
  return { type: 'array', items, ...more }
}

/** A schema whose one field below spec is this. */
export function ofField(schema: Part): Part {
  return object({ spec: object({ f: schema }) })
}

function byKeys(items: Part, keys: readonly string[] | undefined): Part {
  return ofField(list(items, { [listType]: 'map', ...(keys === undefined ? {} : { [listKeys]: keys }) }))
}

/** A part of anyOf beside declared fields. */
function besides(part: Part, more: Part = {}): Part {
  const declared = { a: text, l: list(object({ x: text })), o: object({ p: text }) }
  return ofField(object(declared, { anyOf: [part], ...more }))
}

const plain = ofField(text)

export const schemaRows: readonly (readonly [title: string, schema: Part])[] = [
  ['set of granular objects', ofField(list(object({ a: text }), { [listType]: 'set' }))],
  ['set of atomic objects', ofField(list(object({ a: text }, { [mapType]: 'atomic' }), { [listType]: 'set' }))],
  ['set of lists', ofField(list(list(text), { [listType]: 'set' }))],
  ['set of sets', ofField(list(list(text, { [listType]: 'set' }), { [listType]: 'set' }))],
  ['set of atomic lists', ofField(list(list(text, { [listType]: 'atomic' }), { [listType]: 'set' }))],
  ['set nullable', ofField(list({ type: 'string', nullable: true }, { [listType]: 'set' }))],
  ['set of untyped', ofField(list({ [preserve]: true }, { [listType]: 'set' }))],
  ['map ok', byKeys(object({ k: text }, { required: ['k'] }), ['k'])],
  ['map key default', byKeys(object({ k: { type: 'string', default: 'x' } }), ['k'])],
  ['map key nullable', byKeys(object({ k: { type: 'string', nullable: true } }, { required: ['k'] }), ['k'])],
  ['map item nullable', byKeys(object({ k: text }, { required: ['k'], nullable: true }), ['k'])],
  ['map no keys', byKeys(object({ k: text }), undefined)],
  ['map empty keys', byKeys(object({ k: text }), [])],
  ['map key unknown', byKeys(object({ k: text }), ['z'])],
  ['map key optional', byKeys(object({ k: text }), ['k'])],
  ['map key object', byKeys(object({ k: object({}) }, { required: ['k'] }), ['k'])],
  ['map key twice', byKeys(object({ k: text }, { required: ['k'] }), ['k', 'k'])],
  ['map of strings', byKeys(text, ['k'])],
  ['map without items', ofField({ type: 'array', [listType]: 'map', [listKeys]: ['k'] })],
  ['keys no map', ofField(list(text, { [listKeys]: ['k'] }))],
  ['keys in set', ofField(list(text, { [listType]: 'set', [listKeys]: ['k'] }))],
  ['list type on object', ofField({ type: 'object', [listType]: 'set' })],
  ['list type untyped', ofField({ [preserve]: true, [listType]: 'set' })],
  ['list type bad', ofField(list(text, { [listType]: 'bad' }))],
  ['map type on string', ofField({ type: 'string', [mapType]: 'atomic' })],
  ['map type untyped', ofField({ [preserve]: true, [mapType]: 'atomic' })],
  ['map type bad', ofField({ type: 'object', [mapType]: 'bad' })],
  ['list type empty', ofField(list(text, { [listType]: '' }))],
  ['keys two missing', byKeys(object({ k: text, l: text }), ['k', 'l'])],
  ['map key default null', byKeys(object({ k: { type: 'string', default: null } }), ['k'])],
  ['root nullable', { ...plain, nullable: true }],
  ['root string', { type: 'string' }],
  ['root no type', { properties: {} }],
  ['root additional', { type: 'object', additionalProperties: text }],
  ['root empty', {}],
  ['root array', { type: 'array', items: text }],
  ['root metadata labels', object({ metadata: object({ labels: { type: 'object' } }) })],
  ['root metadata name', object({ metadata: object({ name: { type: 'string', pattern: '^a' } }) })],
  ['root metadata string', object({ metadata: text })],
  ['root metadata desc', object({ metadata: { type: 'object', description: 'x' } })],
  ['root metadata required', object({ metadata: object({ name: text }, { required: ['name'] }) })],
  ['root metadata no type', object({ metadata: {} })],
  ['root metadata nullable', object({ metadata: { type: 'object', nullable: true } })],
  ['root metadata default', object({ metadata: { type: 'object', default: {} } })],
  ['root metadata name default', object({ metadata: object({ name: { type: 'string', default: 'x' } }) })],
  ['root kind int', object({ kind: { type: 'integer' } })],
  ['root apiVersion int', object({ apiVersion: { type: 'integer' } })],
  ['root kind default', object({ kind: { type: 'string', default: 'X' } })],
  ['root metadata embedded', object({ metadata: { type: 'object', [embedded]: true, [preserve]: true } })],
  ['metadata preserve', object({ metadata: { type: 'object', [preserve]: true } })],
  ['root metadata other', object({ metadata: object({ name: text, generateName: text, other: text }) })],
  ['root meta uid', object({ metadata: object({ name: text, uid: text }) })],
  ['embedded ok', ofField({ type: 'object', [embedded]: true, [preserve]: true })],
  ['embedded no type', ofField({ [embedded]: true, [preserve]: true })],
  ['embedded string', ofField({ type: 'string', [embedded]: true })],
  ['embedded none', ofField({ type: 'object', [embedded]: true })],
  ['embedded props', ofField(object({ spec: text }, { [embedded]: true }))],
  [
    'embedded in metadata',
    ofField(
      object({ metadata: object({ x: { type: 'object', [embedded]: true, [preserve]: true } }) }, { [embedded]: true }),
    ),
  ],
  [
    'embedded metadata itself',
    ofField(object({ metadata: { type: 'object', [embedded]: true, [preserve]: true } }, { [embedded]: true })),
  ],
  ['embedded metadata string', ofField(object({ metadata: text }, { [embedded]: true }))],
  ['embedded kind int', ofField(object({ kind: { type: 'integer' } }, { [embedded]: true }))],
  ['embedded additional', ofField({ type: 'object', [embedded]: true, additionalProperties: text })],
  [
    'embedded deep in metadata',
    ofField(
      object(
        { metadata: object({ a: object({ b: { type: 'object', [embedded]: true, [preserve]: true } }) }) },
        { [embedded]: true },
      ),
    ),
  ],
  [
    'embedded metadata addl default',
    ofField(
      object(
        { metadata: object({ labels: { type: 'object', additionalProperties: { type: 'string', default: 'x' } } }) },
        { [embedded]: true },
      ),
    ),
  ],
  ['ios type', ofField({ type: 'string', [intOrString]: true })],
  ['ios anyOf', ofField({ [intOrString]: true, anyOf: [{ type: 'integer' }, { type: 'string' }] })],
  [
    'ios allOf',
    ofField({ [intOrString]: true, allOf: [{ anyOf: [{ type: 'integer' }, { type: 'string' }] }, { pattern: 'a' }] }),
  ],
  ['ios anyOf swapped', ofField({ [intOrString]: true, anyOf: [{ type: 'string' }, { type: 'integer' }] })],
  ['ios preserve', ofField({ [intOrString]: true, [preserve]: true })],
  ['ios embedded', ofField({ [intOrString]: true, [embedded]: true })],
  [
    'ios anyOf three',
    ofField({ [intOrString]: true, anyOf: [{ type: 'integer' }, { type: 'string' }, { type: 'boolean' }] }),
  ],
  ['anyOf types', ofField({ type: 'object', anyOf: [{ type: 'object' }] })],
  ['ios allOf type', ofField({ [intOrString]: true, allOf: [{ type: 'integer' }] })],
  ['anyOf types no ios', ofField({ anyOf: [{ type: 'integer' }, { type: 'string' }] })],
  ['ios pattern', ofField({ [intOrString]: true, pattern: '(' })],
  ['nested props', besides({ properties: { a: { enum: ['x'] } } })],
  ['nested unknown', besides({ properties: { z: { enum: ['x'] } } })],
  ['nested required', besides({ required: ['z'] })],
  ['nested desc', besides({ description: 'd' })],
  ['nested default', besides({ properties: { a: { default: 'x' } } })],
  ['nested nullable', besides({ nullable: true })],
  ['nested title', besides({ title: 't' })],
  ['nested additional', besides({ additionalProperties: text })],
  ['nested preserve', besides({ [preserve]: true })],
  ['nested items', besides({ properties: { l: { items: { properties: { x: { enum: ['a'] } } } } } })],
  ['nested items unknown', besides({ properties: { l: { items: { properties: { y: { enum: ['a'] } } } } } })],
  ['nested deep', besides({ allOf: [{ properties: { z: {} } }] })],
  ['nested deep not', besides({ not: { properties: { z: {} } } })],
  ['nested list type', besides({ properties: { l: { [listType]: 'set' } } })],
  ['nested map type', besides({ properties: { o: { [mapType]: 'atomic' } } })],
  ['nested ios', besides({ properties: { a: { [intOrString]: true } } })],
  ['nested embedded', besides({ properties: { o: { [embedded]: true } } })],
  ['nested rules', besides({ [rules]: [{ rule: 'true' }] })],
  ['nested rules of a field', besides({ properties: { a: { [rules]: [{ rule: 'true' }] } } })],
  ['nested no rules', besides({ [rules]: [] })],
  ['nested rules allOf', ofField(object({ a: text }, { allOf: [{ [rules]: [{ rule: 'true' }] }] }))],
  ['nested rules not', ofField(object({ a: text }, { not: { oneOf: [{ [rules]: [{ rule: 'true' }] }] } }))],
  [
    'nested metadata',
    object({ metadata: { type: 'object' } }, { anyOf: [{ properties: { metadata: { required: ['name'] } } }] }),
  ],
  [
    'nested metadata name',
    object(
      { metadata: object({ name: text }) },
      { allOf: [{ properties: { metadata: { properties: { name: { enum: ['a'] } } } } }] },
    ),
  ],
  [
    'nested both levels',
    ofField(
      object(
        { o: object({ p: text }) },
        {
          allOf: [
            {
              properties: {
                o: { anyOf: [{ properties: { p: { enum: ['a'] } } }, { properties: { q: { enum: ['a'] } } }] },
              },
            },
          ],
        },
      ),
    ),
  ],
  [
    'nested in preserve',
    ofField({ type: 'object', [preserve]: true, anyOf: [{ properties: { z: { enum: ['a'] } } }] }),
  ],
  [
    'nested addl',
    ofField({ type: 'object', additionalProperties: text, anyOf: [{ properties: { z: { enum: ['a'] } } }] }),
  ],
  ['nested addl ok', ofField({ type: 'object', additionalProperties: text, anyOf: [{ minProperties: 1 }] })],
  ['nested pattern', besides({ properties: { a: { pattern: '(' } } })],
  [
    'nested named in allOf only',
    ofField(
      object({ a: text }, { allOf: [{ anyOf: [{ properties: { a: { minLength: 1 } } }, { required: ['a'] }] }] }),
    ),
  ],
  [
    'nested items no items',
    ofField(object({ l: list(text) }, { anyOf: [{ properties: { l: { items: { items: { enum: ['a'] } } } } }] })),
  ],
  ['declared only in nested', ofField(object({}, { allOf: [{ properties: { a: { type: 'string' } } }] }))],
  [
    'items declared only nested',
    ofField(object({ l: { type: 'array' } }, { anyOf: [{ properties: { l: { items: { enum: ['a'] } } } }] })),
  ],
  ['no type prop', ofField({})],
  ['no type item', ofField(list({}))],
  ['array no items', ofField({ type: 'array' })],
  ['type bad', ofField({ type: 'bad' })],
  ['props and additional', ofField(object({ a: text }, { additionalProperties: text }))],
  ['props and additional true', ofField(object({ a: text }, { additionalProperties: true }))],
  ['additional false', ofField({ type: 'object', additionalProperties: false })],
  ['props additional false', ofField(object({ a: text }, { additionalProperties: false }))],
  ['additional true', ofField({ type: 'object', additionalProperties: true })],
  ['unique', ofField(list(text, { uniqueItems: true }))],
  ['ref', ofField({ $ref: '#/x', type: 'string' })],
  ['id', ofField({ id: 'x', type: 'string' })],
  ['defs', { ...plain, definitions: { a: text } }],
  ['deps', ofField(object({ a: text }, { dependencies: { a: ['b'] } }))],
  ['patternProps', ofField({ type: 'object', patternProperties: { a: text } })],
  ['additionalItems', ofField(list(text, { additionalItems: true }))],
  ['additionalItems false', ofField(list(text, { additionalItems: false }))],
  ['items list', ofField({ type: 'array', items: [text] })],
  ['preserve false', ofField({ type: 'object', [preserve]: false })],
  ['pattern bad', ofField({ type: 'string', pattern: '(' })],
  ['two errors', ofField(object({ a: {}, b: { type: 'array' }, c: { type: 'object', [listType]: 'map' } }))],
  ['format bad', ofField({ type: 'string', format: 'nope' })],
  ['type array in two levels', ofField(list(list({})))],
  ['default wrong', ofField({ type: 'string', default: 1 })],
  ['default unknown', ofField(object({ a: text }, { default: { b: 1 } }))],
  ['default in addl', ofField({ type: 'object', additionalProperties: { type: 'string', default: 'x' } })],
  ['default null', ofField({ type: 'string', default: null })],
  ['default null nullable', ofField({ type: 'string', nullable: true, default: null })],
  ['default enum', ofField({ type: 'string', enum: ['a'], default: 'b' })],
  ['default deep', ofField(object({ a: { type: 'string', default: 1 } }, { default: {} }))],
  ['default root', { ...plain, default: {} }],
  ['default required', ofField(object({ a: text }, { required: ['a'], default: {} }))],
  ['default item', ofField(list({ type: 'string', default: 1 }))],
  ['enum empty', ofField({ type: 'string', enum: [] })],
  ['default embedded', ofField({ type: 'object', [embedded]: true, [preserve]: true, default: { apiVersion: 'v1' } })],
  ['default set dup', ofField(list(text, { [listType]: 'set', default: ['a', 'a'] }))],
]
