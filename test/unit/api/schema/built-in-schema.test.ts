import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { builtInSchema, overlaySchema } from '../../../../src/api/schema/built-in-schema.ts'
import { coerce } from '../../../../src/api/schema/coerce.ts'
import descriptions from '../../../../src/api/schema/descriptions.json' with { type: 'json' }
import { descriptionOf, kindTables } from '../../../../src/api/schema/kind-tables.ts'
import { listOf, mapOf, object, type Schema, text } from '../../../../src/api/schema/schema.ts'
import type { Json } from '../../../../src/model/api-object.ts'

function fieldAt(schema: Schema, path: string): Schema {
  return path.split('.').reduce((current, step) => {
    const next = step === '[]' ? current.items : current.properties?.[step]
    assert.ok(next, `${path}: nothing at ${step}`)
    return next
  }, schema)
}

describe('the schema of a built-in kind', () => {
  const pod = builtInSchema('', 'v1', 'Pod')

  const rows: readonly [string, Partial<Schema>][] = [
    ['spec.containers', { listType: 'map', listMapKeys: ['name'], patchMergeKey: 'name', patchStrategy: ['merge'] }],
    ['spec.containers.[].ports', { listMapKeys: ['containerPort', 'protocol'], patchMergeKey: 'containerPort' }],
    ['spec.volumes', { patchStrategy: ['merge', 'retainKeys'] }],
    ['spec.volumes.[].configMap.name', { type: 'string' }],
    ['spec.volumes.[].emptyDir.sizeLimit', { intOrString: true, format: 'quantity' }],
    ['spec.containers.[].livenessProbe.httpGet.port', { intOrString: true }],
    ['spec.containers.[].env.[].valueFrom.configMapKeyRef.name', { type: 'string' }],
    ['spec.ephemeralContainers.[].image', { type: 'string' }],
    ['spec.terminationGracePeriodSeconds', { type: 'integer', format: 'int64' }],
    ['metadata.creationTimestamp', { type: 'string', format: 'date-time' }],
    ['metadata.finalizers', { listType: 'set', patchStrategy: ['merge'] }],
    ['metadata.ownerReferences.[]', { mapType: 'atomic', required: ['apiVersion', 'kind', 'name', 'uid'] }],
    ['metadata.managedFields.[].fieldsV1', { preserveUnknownFields: true }],
    ['status.podIPs', { listType: 'map', listMapKeys: ['ip'] }],
  ]
  for (const [path, expected] of rows) {
    test(`a Pod's ${path} is as Kubernetes has it`, () => {
      const found = fieldAt(pod, path)
      for (const [key, value] of Object.entries(expected)) assert.deepEqual(found[key as keyof Schema], value, key)
    })
  }

  test('every kind of the tables can be built', () => {
    for (const key of Object.keys(kindTables.kinds)) {
      const [group = '', version = '', kind = ''] = key.split('/')
      assert.equal(builtInSchema(group, version, kind).type, 'object', key)
    }
  })

  test('a kind that is not in the tables is a mistake of the program', () => {
    assert.throws(() => builtInSchema('', 'v1', 'Toaster'), /Toaster/)
  })

  test('unknown fields of a Pod are pruned, fractions of a CPU become canonical', () => {
    const resources = { limits: { cpu: 0.5, memory: '1Gi' } }
    const { value, problems } = coerce(pod, {
      spec: { colour: 'blue', containers: [{ name: 'a', shape: 1, resources }] },
    })
    assert.deepEqual(problems, [])
    const canonical = { limits: { cpu: '500m', memory: '1Gi' } }
    assert.deepEqual(value, { spec: { containers: [{ name: 'a', resources: canonical }] }, metadata: {} })
  })

  test('a key of a map stays without its value: else a policy for some pods would be one for all', () => {
    const policy = builtInSchema('networking.k8s.io', 'v1', 'NetworkPolicy')
    const spec = { podSelector: { matchLabels: { app: null } }, egress: null }
    const { value, problems } = coerce(policy, { metadata: { labels: { a: null } }, spec })
    assert.deepEqual(problems, [])
    assert.deepEqual(value, { metadata: { labels: { a: '' } }, spec: { podSelector: { matchLabels: { app: '' } } } })
    const limits = { cpu: null }
    const container = coerce(pod, { spec: { containers: [{ name: 'a', resources: { limits } }] } }).value
    assert.deepEqual(container, {
      metadata: {},
      spec: { containers: [{ name: 'a', resources: { limits: { cpu: '0' } } }] },
    })
  })

  test('texts that clients decode into something else have one form', () => {
    const secret = builtInSchema('', 'v1', 'Secret')
    const lease = builtInSchema('coordination.k8s.io', 'v1', 'Lease')
    const dataOf = (a: string) => coerce(secret, { data: { a } })
    assert.deepEqual(dataOf('YW\r\nE=').value, { data: { a: 'YWE=' }, metadata: {} })
    for (const bad of ['?', 'YQ', 'YQ=', 'Y===', 'Y Q='])
      assert.deepEqual(dataOf(bad).problems, [{ path: 'data.a', expected: 'text in base64', found: 'another text' }])
    const renewed = (renewTime: string) => coerce(lease, { spec: { renewTime } })
    const times = [
      ['2026-01-01T00:00:00Z', '2026-01-01T00:00:00.000000Z'],
      ['2026-01-01T00:00:00.5+02:00', '2026-01-01T00:00:00.500000+02:00'],
      ['2026-01-01T00:00:00.123456789Z', '2026-01-01T00:00:00.123456Z'],
    ] as const
    for (const [given, stored] of times)
      assert.deepEqual(renewed(given).value, { spec: { renewTime: stored }, metadata: {} })
    for (const bad of ['', 'now', '2026-01-01', '2026-02-30T00:00:00Z', '2026-01-01 00:00:00Z'])
      assert.equal(renewed(bad).problems.length, 1, bad)
  })
})

describe('the descriptions of built-in kinds', () => {
  const ofMessage = (name: string) => new Map(kindTables.messages[name]?.fields.map((field) => [field.name, field]))

  test('every stored kind of the cluster network has one, and so has each of its fields and those of its spec', () => {
    const kinds = [
      'core.v1.Service',
      'discovery.v1.EndpointSlice',
      'networking.v1.Ingress',
      'networking.v1.NetworkPolicy',
    ]
    for (const kind of kinds) {
      assert.ok(descriptionOf(kind, ''), kind)
      for (const [field, { type }] of ofMessage(kind)) {
        assert.ok(descriptionOf(kind, field) ?? descriptionOf(type, ''), `${kind}.${field}`)
        if (field === 'spec')
          for (const each of ofMessage(type).keys()) assert.ok(descriptionOf(type, each), `${type}.${each}`)
      }
    }
  })

  test('every kind that has a name of its own says what it is', () => {
    const reviews = /^(?:apidiscovery|authentication|authorization|policy|meta)\.|^autoscaling\.v1\.Scale/
    const named = Object.values(kindTables.kinds).filter((name) => !reviews.test(name) && name !== 'core.v1.Binding')
    for (const name of named) assert.ok(descriptionOf(name, ''), name)
  })

  test('none is of a message or a field that there is not', () => {
    for (const [name, texts] of Object.entries(descriptions)) {
      const fields = ofMessage(name)
      assert.ok(fields.size > 0, name)
      const inlined = [...fields.values()].filter(({ inline }) => inline === true).map(({ type }) => type)
      const known = new Set(['', ...fields.keys(), ...inlined.flatMap((type) => allFields(type))])
      for (const field of Object.keys(texts)) assert.ok(known.has(field), `${name}.${field}`)
    }
  })

  function allFields(name: string): readonly string[] {
    return [...ofMessage(name)].flatMap(([field, { inline, type }]) => (inline === true ? allFields(type) : [field]))
  }
})

describe('an overlay', () => {
  test('adds defaults deep inside and leaves all else as it is', () => {
    const base = builtInSchema('', 'v1', 'Service')
    const defaults = object({
      spec: { properties: { ports: { items: { properties: { protocol: { default: 'TCP' } } } } } },
    })
    const service = overlaySchema(base, defaults)
    const { type, default: value } = fieldAt(service, 'spec.ports.[].protocol')
    assert.deepEqual([type, value], ['string', 'TCP'])
    assert.deepEqual(fieldAt(service, 'spec.ports').listMapKeys, ['port', 'protocol'])
    assert.equal(fieldAt(service, 'spec').typeName, undefined, 'a changed type is no longer the shared one')
    assert.equal(fieldAt(service, 'status').typeName, 'core.v1.ServiceStatus')
    assert.equal(fieldAt(base, 'spec.ports.[].protocol').default, undefined)
  })
})

describe('a null where no field is absent', () => {
  const rows: readonly [string, Schema, Json, Json][] = [
    ['a text of a map', mapOf(text), { a: null }, { a: '' }],
    ['a quantity of a map', mapOf({ intOrString: true, format: 'quantity' }), { cpu: null }, { cpu: '0' }],
    ['a port of a list', listOf({ intOrString: true }), [null], [0]],
    ['an object of a list, with its defaults', listOf(object({ a: { default: 1 } })), [null], [{ a: 1 }]],
    ['a list of a list', listOf(listOf(text)), [null], [[]]],
    ['a truth of a list', listOf({ type: 'boolean' }), [null], [false]],
    ['a number of a list', listOf({ type: 'number' }), [null], [0]],
    ['anything, which stays', listOf({}), [null], [null]],
    ['what may be null, which stays', listOf({ type: 'string', nullable: true }), [null], [null]],
    ['a field, which goes', object({ a: text }), { a: null }, {}],
  ]
  for (const [what, schema, given, expected] of rows)
    test(`is empty: ${what}`, () => assert.deepEqual(coerce(schema, given), { value: expected, problems: [] }))
})
