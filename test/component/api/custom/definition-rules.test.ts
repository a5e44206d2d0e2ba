import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { startTestServer, type TestServer } from '../../../helpers/api-server.ts'

const definitions = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions'
const merge = { 'content-type': 'application/merge-patch+json' }
const text = { type: 'string' }
const fields = {
  colour: text,
  size: { type: 'integer' },
  rate: { type: 'number' },
  tags: { type: 'array', items: text },
}
const schema = { type: 'object', properties: { spec: { type: 'object', properties: fields } } }

type Fields = Record<string, unknown>

function version(name: string, more: Fields = {}): Fields {
  return { name, served: true, storage: false, schema: { openAPIV3Schema: schema }, ...more }
}

function stored(more: Fields = {}): Fields {
  return version('v1', { storage: true, ...more })
}

/** A definition of the plural, in the group of the plural. */
function define(plural: string, spec: Fields = {}, metadata: Fields = {}): Fields {
  const group = `${plural}.example.com`
  return {
    metadata: { name: `${plural}.${spec['group'] ?? group}`, ...metadata },
    spec: { group, scope: 'Namespaced', names: { plural, kind: 'Thing' }, versions: [stored()], ...spec },
  }
}

function selecting(...paths: string[]): Fields {
  return { versions: [stored({ selectableFields: paths.map((jsonPath) => ({ jsonPath })) })] }
}

const untyped = { schema: { openAPIV3Schema: { type: 'object', properties: { spec: {} } } } }
const rootRule = {
  schema: { openAPIV3Schema: { ...schema, anyOf: [{ required: ['spec'] }] } },
  subresources: { status: {} },
}
const badColumn = { additionalPrinterColumns: [{ name: 'A', type: 'text', jsonPath: 'a' }] }
const notPlain =
  'must point to a field of type string, boolean or integer. Enum string fields and strings with formats are allowed.'
const columnTypes = 'must be one of boolean,date,integer,number,string'
const noType = 'Required value: must not be empty for specified object fields'
const twice = 'spec.versions: Invalid value: ["v1","v1"]: must contain unique version names'

/** In the words of kube-apiserver 1.34, which gave these answers. */
const rows: readonly [title: string, spec: Fields, ...causes: string[]][] = [
  [
    'a group without a dot',
    { group: 'example' },
    'spec.group: Invalid value: "example": should be a domain with at least one dot',
  ],
  [
    'no storage version',
    { versions: [version('v1')] },
    'spec.versions: Invalid value: ["v1"]: must have exactly one version marked as storage version',
  ],
  ['a version that stands twice', { versions: [stored(), version('v1')] }, twice],
  [
    'preserveUnknownFields',
    { preserveUnknownFields: true },
    'spec.preserveUnknownFields: Invalid value: true: cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead',
  ],
  [
    'a webhook beside conversion None',
    {
      conversion: {
        strategy: 'None',
        webhook: { conversionReviewVersions: ['v1'], clientConfig: { url: 'https://a.b' } },
      },
    },
    'spec.conversion.webhookClientConfig: Forbidden: should not be set when strategy is not set to Webhook',
    'spec.conversion.conversionReviewVersions: Forbidden: should not be set when strategy is not set to Webhook',
  ],
  ['a conversion without a strategy', { conversion: {} }, 'spec.conversion.strategy: Required value'],
  [
    'a deprecation warning of a version that is not deprecated',
    { versions: [stored({ deprecationWarning: 'x' })] },
    'spec.versions[0].deprecationWarning: Invalid value: "x": can only be set for deprecated versions',
  ],
  [
    'an empty deprecation warning',
    { versions: [stored({ deprecated: true, deprecationWarning: '' })] },
    'spec.versions[0].deprecationWarning: Invalid value: "": must not be an empty string',
  ],
  [
    'a line break in a deprecation warning',
    { versions: [stored({ deprecated: true, deprecationWarning: 'a\nb' })] },
    'spec.versions[0].deprecationWarning: Invalid value: "a\\nb": must only contain printable UTF-8 characters; non-printable character found at index 1',
  ],
  [
    'a selectable number',
    selecting('.spec.rate'),
    `spec.selectableFields[0].jsonPath: Invalid value: ".spec.rate": ${notPlain}`,
  ],
  [
    'a selectable list',
    selecting('.spec.tags'),
    `spec.selectableFields[0].jsonPath: Invalid value: ".spec.tags": ${notPlain}`,
  ],
  [
    'a selectable item',
    selecting('.spec.tags[0]'),
    'spec.selectableFields[0].jsonPath: Invalid value: ".spec.tags[0]": is an invalid path: array notation is not allowed',
  ],
  [
    'a selectable field that is not declared',
    selecting('.spec.none'),
    'spec.selectableFields[0].jsonPath: Invalid value: ".spec.none": is an invalid path: does not refer to a valid field',
  ],
  [
    'a selectable field that stands twice',
    selecting('.spec.size', '.spec.size'),
    'spec.selectableFields[1].jsonPath: Duplicate value: ".spec.size"',
  ],
  [
    'a selectable field without a dot',
    selecting('spec.size'),
    'spec.selectableFields[0].jsonPath: Invalid value: "spec.size": is an invalid path: expected [ or . but got: spec',
  ],
  [
    'a root that can be null',
    { versions: [stored({ schema: { openAPIV3Schema: { ...schema, nullable: true } } })] },
    'spec.validation.openAPIV3Schema.nullable: Forbidden: nullable cannot be true at the root',
  ],
  [
    'an error in the schema that all versions share, said once',
    { versions: [stored(untyped), version('v2', untyped)] },
    `spec.validation.openAPIV3Schema.properties[spec].type: ${noType}`,
  ],
  [
    'an error in the schema of one version',
    { versions: [stored(), version('v2', untyped)] },
    `spec.versions[1].schema.openAPIV3Schema.properties[spec].type: ${noType}`,
  ],
  [
    'a wrong column',
    { versions: [stored(badColumn)] },
    `spec.additionalPrinterColumns[0].type: Invalid value: "text": ${columnTypes}`,
    'spec.additionalPrinterColumns[0].JSONPath: Invalid value: "a": must be a simple json path starting with .',
  ],
  [
    'a wrong column of one version',
    { versions: [stored(), version('v2', badColumn)] },
    `spec.versions[1].additionalPrinterColumns[0].type: Invalid value: "text": ${columnTypes}`,
    'spec.versions[1].additionalPrinterColumns[0].JSONPath: Invalid value: "a": must be a simple json path starting with .',
  ],
  [
    'a group of the community without its approval',
    { group: 'things.k8s.io' },
    'metadata.annotations[api-approved.kubernetes.io]: Required value: protected groups must have approval annotation "api-approved.kubernetes.io", see https://github.com/kubernetes/enhancements/pull/1111',
  ],
]

describe('definitions', () => {
  let server: TestServer
  before(async () => {
    server = await startTestServer()
  })
  after(() => server.stop())

  const create = (body: unknown) => server.call('POST', definitions, { body })
  const patch = (name: string, body: unknown) =>
    server.call('PATCH', `${definitions}/${name}`, { body, headers: merge })

  for (const [index, [title, spec, ...causes]] of rows.entries()) {
    test(`${title} is refused`, async () => {
      const { code, body, text } = await create(define(`refused${index}`, spec))
      assert.equal(code, 422, text)
      const found = body.details.causes.map(({ field, message }: Record<string, string>) => `${field}: ${message}`)
      assert.deepEqual(found, causes)
    })
  }

  test('another name than plural and group is refused', async () => {
    const { body } = await create(define('misnamed', {}, { name: 'other.example.com' }))
    assert.equal(
      body.details.causes[0].message,
      'Invalid value: "other.example.com": must be spec.names.plural+"."+spec.group',
    )
  })

  test('rules at the root beside a status subresource are refused', async () => {
    const { body } = await create(define('rooted', { versions: [stored(rootRule)] }))
    const [{ field, message }] = body.details.causes
    assert.equal(field, 'spec.validation.openAPIV3Schema')
    assert.match(
      message,
      /Invalid value: "anyOf": only \[.*\] fields are allowed at the root of the schema if the status/,
    )
  })

  test('the kind and the scope can change until a definition is established', async () => {
    const group = 'claims.example.com'
    const first = { ...define('firsts', { group }), metadata: { name: `firsts.${group}` } }
    assert.equal((await create(first)).code, 201)
    const names = { plural: 'seconds', kind: 'Thing', singular: 'second', shortNames: ['se'] }
    const made = await create({ ...define('seconds', { group, names }), metadata: { name: `seconds.${group}` } })
    const [condition, established] = made.body.status.conditions
    assert.deepEqual([condition.reason, established.status], ['ListKindConflict', 'False'])
    assert.deepEqual(made.body.status.acceptedNames, {
      plural: 'seconds',
      kind: '',
      singular: 'second',
      shortNames: ['se'],
    })

    const renamed = await patch(`seconds.${group}`, {
      spec: { scope: 'Cluster', names: { kind: 'Second', listKind: 'Seconds' } },
    })
    assert.deepEqual([renamed.code, renamed.body.status.acceptedNames.kind], [200, 'Second'], renamed.text)
    const late = await patch(`seconds.${group}`, { spec: { scope: 'Namespaced' } })
    assert.equal(late.body.details.causes[0].message, 'Invalid value: "Namespaced": field is immutable')
  })

  test('a definition that earlier rules accepted can be labelled and deleted', async () => {
    const name = 'earlier.earlier.example.com'
    const body = define('earlier', { names: { plural: 'earlier', kind: 'Earlier' } })
    const { body: made } = await create(body)
    const versions = [{ ...made.spec.versions[0], ...untyped }]
    const value = JSON.stringify({ ...made, spec: { ...made.spec, versions, preserveUnknownFields: true } })
    const key = `/registry/customresourcedefinitions/${name}`
    const expectedRevision = Number(made.metadata.resourceVersion)
    await server.store.commit([{ kind: 'put', key, value, expectedRevision }])

    const labelled = await patch(name, { metadata: { labels: { a: 'b' } } })
    assert.equal(labelled.code, 200, labelled.text)
    const described = await patch(name, { spec: { names: { categories: ['all'] } } })
    assert.equal(described.code, 200, described.text)
    assert.equal((await server.call('DELETE', `${definitions}/${name}`)).code, 200)
  })

  test('a served definition keeps its short names while the ones that it wants belong to another', async () => {
    const group = 'shorts.example.com'
    const named = (plural: string, kind: string, shortNames: string[]) => ({
      ...define(plural, { group, names: { plural, kind, shortNames } }),
      metadata: { name: `${plural}.${group}` },
    })
    await create(named('ones', 'One', ['o']))
    await create(named('twos', 'Two', ['t']))
    await patch(`twos.${group}`, { spec: { names: { shortNames: ['o', 'w'] } } })
    const { body } = await server.call('GET', `/apis/${group}/v1`)
    const shown = body.resources.map(({ name, shortNames }: Fields) => [name, shortNames])
    assert.deepEqual(shown, [
      ['ones', ['o']],
      ['twos', ['t']],
    ])
  })
})
