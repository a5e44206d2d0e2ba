import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { startTestServer, type TestServer, take } from '../../../helpers/api-server.ts'
import { definition, spec } from '../../../helpers/definitions.ts'
import { untilAsync } from '../../../helpers/until.ts'

for (const dialect of ['kubernetes', 'platform'] as const) {
  const group = dialect === 'kubernetes' ? 'apiextensions.k8s.io' : 'apiextensions.platform.internal'
  const definitions = `/apis/${group}/v1/customresourcedefinitions`
  const widgets = '/apis/example.com/v1/namespaces/default/widgets'

  describe(`custom resources in the ${dialect} dialect`, () => {
    let server: TestServer
    before(async () => {
      server = await startTestServer({ dialect })
      const { code, text } = await server.call('POST', definitions, { body: definition() })
      assert.equal(code, 201, text)
    })
    after(() => server.stop())

    const create = (body: unknown) => server.call('POST', widgets, { body })

    test('a definition is established, with its defaults, when its create is answered', async () => {
      const { body } = await server.call('GET', `${definitions}/widgets.example.com`)
      assert.equal(body.spec.names.singular, 'widget')
      assert.equal(body.spec.names.listKind, 'WidgetList')
      assert.deepEqual(body.spec.conversion, { strategy: 'None' })
      assert.deepEqual(body.status.storedVersions, ['v1'])
      assert.equal(body.status.acceptedNames.plural, 'widgets')
      const conditions = body.status.conditions.map(
        ({ type, status, reason }: Record<string, string>) => `${type} ${status} ${reason}`,
      )
      assert.deepEqual(conditions, ['NamesAccepted True NoConflicts', 'Established True InitialNamesAccepted'])
    })

    test('its versions are in discovery at once', async () => {
      const { body } = await server.call('GET', '/apis/example.com/v1')
      const [widget] = body.resources
      assert.equal(widget.kind, 'Widget')
      assert.deepEqual(widget.shortNames, ['wd'])
      assert.deepEqual(widget.categories, ['all'])
    })

    test('an instance is pruned and filled in, its status left out, its generation counted', async () => {
      const { code, body } = await create({
        ...spec('w1', { size: 3, unknown: 1, none: null }),
        status: { ready: true },
        other: 1,
      })
      assert.equal(code, 201)
      assert.deepEqual(body.spec, { size: 3, colour: 'blue' })
      assert.equal(body.status, undefined)
      assert.equal(body.other, undefined)
      assert.equal(body.metadata.generation, 1)
    })

    test('an object that a stricter schema made invalid is still labelled, given a status and deleted', async () => {
      const strict = definition('gears', 'Gear')
      await server.call('POST', definitions, { body: strict })
      const gears = '/apis/example.com/v1/namespaces/default/gears'
      const metadata = { name: 'g', finalizers: ['example.com/held'] }
      const made = await server.call('POST', gears, { body: { ...spec('g', { size: 9 }, 'Gear'), metadata } })
      assert.equal(made.code, 201, made.text)
      const merge = { 'content-type': 'application/merge-patch+json' }
      const patch = (path: string, body: unknown) => server.call('PATCH', path, { body, headers: merge })
      const size = { type: 'integer', maximum: 3 }
      const [version] = strict.spec.versions
      const { openAPIV3Schema } = version?.schema ?? {}
      const properties = {
        ...openAPIV3Schema?.properties,
        spec: { type: 'object', properties: { size, colour: { type: 'string' }, none: size } },
      }
      const stricter = [{ ...version, schema: { openAPIV3Schema: { ...openAPIV3Schema, properties } } }]
      const changed = await patch(`${definitions}/gears.example.com`, { spec: { versions: stricter } })
      assert.equal(changed.code, 200, changed.text)

      assert.equal((await patch(`${gears}/g`, { metadata: { labels: { a: 'b' } } })).code, 200)
      assert.equal((await patch(`${gears}/g/status`, { status: { replicas: 1 } })).code, 200)
      assert.equal((await patch(`${gears}/g`, { spec: { size: 8 } })).code, 422)
      await server.call('DELETE', `${gears}/g`)
      assert.equal((await patch(`${gears}/g`, { metadata: { finalizers: null } })).code, 200)
      assert.equal((await server.call('GET', `${gears}/g`)).code, 404)
    })

    test('what a schema says of metadata.name and generateName holds', async () => {
      const named = definition('notes', 'Note')
      const names = { name: { type: 'string', maxLength: 8 }, generateName: { type: 'string', enum: ['n-'] } }
      const [version] = named.spec.versions
      const openAPIV3Schema = { type: 'object', properties: { metadata: { type: 'object', properties: names } } }
      const versions = [{ name: version?.name, served: true, storage: true, schema: { openAPIV3Schema } }]
      const made = await server.call('POST', definitions, { body: { ...named, spec: { ...named.spec, versions } } })
      assert.equal(made.code, 201, made.text)
      const note = (metadata: object) =>
        server.call('POST', '/apis/example.com/v1/namespaces/default/notes', {
          body: { apiVersion: 'example.com/v1', kind: 'Note', metadata },
        })
      const long = await note({ name: 'much-too-long' })
      assert.match(long.body.message, /metadata\.name: Too long: may not be more than 8 bytes/)
      const other = await note({ generateName: 'm-' })
      assert.match(other.body.message, /metadata\.generateName: Unsupported value: "m-": supported values: "n-"/)
      assert.equal((await note({ generateName: 'n-' })).code, 201)
    })

    test('what breaks the schema is a 422 with a cause for each field', async () => {
      const { code, body } = await create(spec('bad', { size: 11, colour: 'pink' }))
      assert.equal(code, 422)
      assert.equal(
        body.message,
        'Widget.example.com "bad" is invalid: [spec.size: Invalid value: 11: spec.size in body should be less than or equal to 10, spec.colour: Unsupported value: "pink": supported values: "red", "blue"]',
      )
      assert.deepEqual(
        body.details.causes.map(({ reason, field }: Record<string, string>) => [reason, field]),
        [
          ['FieldValueInvalid', 'spec.size'],
          ['FieldValueNotSupported', 'spec.colour'],
        ],
      )
    })

    test('a required field at the root counts in the kubernetes dialect only', async () => {
      const { spec: _, ...body } = spec('rootless', {})
      const { code } = await create(body)
      assert.equal(code, dialect === 'kubernetes' ? 422 : 201)
    })

    test('a body that does not say its kind or version is a 400', async () => {
      const { kind, ...nameless } = spec('quiet', {}) as Record<string, unknown>
      const { apiVersion, ...versionless } = spec('quiet', {}) as Record<string, unknown>
      assert.match((await server.call('POST', widgets, { body: nameless })).body.message, /Object 'Kind' is missing/)
      assert.match(
        (await server.call('POST', widgets, { body: versionless })).body.message,
        /API version in the data \(\) does/,
      )
      assert.deepEqual([kind, apiVersion], ['Widget', 'example.com/v1'])
    })

    test('metadata of the wrong type is a 400', async () => {
      const { code } = await create({ ...spec('m', { size: 1 }), metadata: { name: 'm', labels: { a: 1 } } })
      assert.equal(code, 400)
    })

    test('the status is written through its subresource only', async () => {
      await create(spec('st', { size: 1 }))
      const { body: before } = await server.call('GET', `${widgets}/st`)
      const written = await server.call('PUT', `${widgets}/st/status`, {
        body: { ...before, spec: { size: 9 }, status: { replicas: 2 } },
      })
      assert.equal(written.code, 200)
      assert.deepEqual(written.body.spec, { size: 1, colour: 'blue' })
      assert.deepEqual(written.body.status, { replicas: 2 })
      assert.equal(written.body.metadata.generation, 1)
      const patched = await server.call('PATCH', `${widgets}/st`, {
        body: { spec: { size: 2 }, status: { replicas: 7 } },
        headers: { 'content-type': 'application/merge-patch+json' },
      })
      assert.deepEqual(patched.body.status, { replicas: 2 })
      assert.equal(patched.body.metadata.generation, 2)
    })

    test('a PUT says which resourceVersion it replaces; of what is not there it is a 404', async () => {
      await create(spec('put', { size: 1 }))
      const without = await server.call('PUT', `${widgets}/put`, { body: spec('put', { size: 2 }) })
      assert.equal(without.code, 422)
      assert.match(without.body.message, /metadata.resourceVersion: Invalid value: 0: must be specified for an update/)
      assert.equal((await server.call('PUT', `${widgets}/absent`, { body: spec('absent', {}) })).code, 404)
    })

    test('a PUT of a status without resourceVersion is unconditional in the platform dialect alone', async () => {
      await create(spec('seed', { size: 1 }))
      const { spec: _, ...body } = { ...spec('seed', {}), status: { replicas: 3 } } as Record<string, unknown>
      const written = await server.call('PUT', `${widgets}/seed/status`, { body })
      assert.equal(written.code, dialect === 'platform' ? 200 : 422, written.text)
      if (dialect === 'platform') assert.deepEqual([written.body.spec.size, written.body.status.replicas], [1, 3])
    })

    test('strategic merge patches are for built-in kinds', async () => {
      const { code } = await server.call('PATCH', `${widgets}/w1`, {
        body: {},
        headers: { 'content-type': 'application/strategic-merge-patch+json' },
      })
      assert.equal(code, 415)
    })

    test('big integers, decimals and odd keys stay as they were written, through patches of other fields', async () => {
      const raw = '"raw":{"big":12345678901234567890,"decimal":1.10,"__proto__":{"constructor":1e3}}'
      const body = `{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"raw"},"spec":{"size":1,${raw}}}`
      const created = await server.call('POST', widgets, { body })
      assert.equal(created.code, 201, created.text)
      assert.ok(created.text.includes(raw), created.text)
      const patched = await server.call('PATCH', `${widgets}/raw`, {
        body: { spec: { size: 2 } },
        headers: { 'content-type': 'application/merge-patch+json' },
      })
      assert.ok(patched.text.includes(raw), patched.text)
      const json = await server.call('PATCH', `${widgets}/raw`, {
        body: [{ op: 'replace', path: '/spec/size', value: 3 }],
        headers: { 'content-type': 'application/json-patch+json' },
      })
      assert.ok(json.text.includes(raw), json.text)
      assert.ok((await server.call('GET', `${widgets}/raw`)).text.includes(raw))
      assert.ok((await server.call('GET', widgets)).text.includes(raw))
      assert.equal((json.body.metadata as { polluted?: unknown }).polluted, undefined)
    })

    test('a watch shows defaults that came with a later schema', async () => {
      const { body } = await server.call('GET', `${definitions}/widgets.example.com`)
      body.spec.versions[0].schema.openAPIV3Schema.properties.spec.properties.later = { type: 'string', default: 'x' }
      assert.equal((await server.call('PUT', `${definitions}/widgets.example.com`, { body })).code, 200)
      assert.equal((await server.call('GET', `${widgets}/w1`)).body.spec.later, 'x')
      const [event] = await take(server.watch(`${widgets}?watch=true&fieldSelector=metadata.name%3Dw1`), 1)
      assert.equal(event?.object.spec.later, 'x')
    })

    test('tables show the columns of the definition', async () => {
      const { body } = await server.call('GET', `${widgets}/w1`, {
        headers: { accept: 'application/json;as=Table;v=v1;g=meta.k8s.io' },
      })
      assert.deepEqual(
        body.columnDefinitions.map(({ name }: { name: string }) => name),
        ['Name', 'Size', 'Since'],
      )
      assert.deepEqual(body.rows[0].cells.slice(0, 2), ['w1', 3])
      assert.match(body.rows[0].cells[2], /^\d+s$/)
    })

    test('selectable fields select', async () => {
      const { body } = await server.call('GET', `${widgets}?fieldSelector=spec.colour%3Dblue,metadata.name%3Dw1`)
      assert.equal(body.items.length, 1)
      assert.equal((await server.call('GET', `${widgets}?fieldSelector=spec.colour%3Dred`)).body.items.length, 0)
    })

    test('scale reads and writes the replicas, its selector a plain text', async () => {
      await create(spec('sc', { size: 1, replicas: 2 }))
      const status = { status: { replicas: 1, selector: 'a=b,c=d' } }
      const merge = { 'content-type': 'application/merge-patch+json' }
      await server.call('PATCH', `${widgets}/sc/status`, { body: status, headers: merge })
      const { body: scale } = await server.call('GET', `${widgets}/sc/scale`)
      assert.equal(`${scale.apiVersion} ${scale.kind}`, 'autoscaling/v1 Scale')
      assert.deepEqual([scale.spec, scale.status], [{ replicas: 2 }, { replicas: 1, selector: 'a=b,c=d' }])
      const put = await server.call('PUT', `${widgets}/sc/scale`, { body: { ...scale, spec: { replicas: 5 } } })
      assert.equal(put.body.spec.replicas, 5)
      const stale = await server.call('PUT', `${widgets}/sc/scale`, { body: { ...scale, spec: { replicas: 6 } } })
      assert.equal(stale.code, 409)
      const free = { kind: 'Scale', apiVersion: 'autoscaling/v1', metadata: { name: 'sc' }, spec: { replicas: 7 } }
      assert.equal((await server.call('PUT', `${widgets}/sc/scale`, { body: free })).body.spec.replicas, 7)
      const body = { spec: { replicas: 3 } }
      const patched = await server.call('PATCH', `${widgets}/sc/scale`, { body, headers: merge })
      assert.equal(patched.body.spec.replicas, 3)
      const { body: widget } = await server.call('GET', `${widgets}/sc`)
      assert.deepEqual([widget.spec.replicas, widget.spec.size, widget.metadata.generation], [3, 1, 4])
    })

    test('scale refuses negative numbers, and says which field is not there', async () => {
      const merge = { 'content-type': 'application/merge-patch+json' }
      const body = { spec: { replicas: -1 } }
      const negative = await server.call('PATCH', `${widgets}/sc/scale`, { body, headers: merge })
      assert.equal(negative.code, 422)
      assert.match(negative.body.message, /spec.replicas: Invalid value: -1: should be a non-negative integer/)
      const absent = await server.call('GET', `${widgets}/w1/scale`)
      assert.equal(absent.code, 500)
      assert.match(absent.body.message, /the spec replicas field ".spec.replicas" does not exist/)
    })

    test('a definition that is deleted takes its instances along, waits for their finalizers and takes no more', async () => {
      const body = definition('gadgets', 'Gadget')
      assert.equal((await server.call('POST', definitions, { body })).code, 201)
      const gadgets = '/apis/example.com/v1/namespaces/default/gadgets'
      const gadget = (name: string, finalizers: string[]) => ({
        ...spec(name, { size: 1 }, 'Gadget'),
        metadata: { name, finalizers },
      })
      await server.call('POST', gadgets, { body: gadget('held', ['example.com/hold']) })
      await server.call('POST', gadgets, { body: gadget('free', []) })
      const deleted = await server.call('DELETE', `${definitions}/gadgets.example.com`)
      assert.ok(deleted.body.metadata.deletionTimestamp)
      await untilAsync('the object is gone', async () => (await server.call('GET', `${gadgets}/free`)).code === 404)
      const refused = await server.call('POST', gadgets, { body: gadget('late', []) })
      assert.equal(refused.code, 403)
      assert.match(refused.body.message, /create not allowed while custom resource definition is terminating/)
      await server.call('PATCH', `${gadgets}/held`, {
        body: { metadata: { finalizers: [] } },
        headers: { 'content-type': 'application/merge-patch+json' },
      })
      await untilAsync(
        'the definition is gone',
        async () => (await server.call('GET', `${definitions}/gadgets.example.com`)).code === 404,
      )
      assert.equal((await server.call('GET', gadgets)).code, 404)
    })

    test('a name in use is not accepted until it is free', async () => {
      const first = { ...definition('firsts', 'First') }
      first.spec.names.shortNames = ['same']
      const second = definition('seconds', 'Second')
      second.spec.names.shortNames = ['same']
      await server.call('POST', definitions, { body: first })
      const { body } = await server.call('POST', definitions, { body: second })
      assert.equal(body.status.conditions[0].reason, 'ShortNamesConflict')
      assert.equal(body.status.conditions[0].message, '"same" is already in use')
      assert.equal((await server.call('GET', '/apis/example.com/v1/seconds')).code, 404)
      await server.call('DELETE', `${definitions}/firsts.example.com`)
      await untilAsync(
        'the second is served',
        async () => (await server.call('GET', '/apis/example.com/v1/seconds')).code === 200,
      )
    })
  })
}

describe('versions', () => {
  const definitions = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions'

  test('each version shows the stored object by its own schema, a deprecated one warns', async () => {
    await using server = await startTestServer()
    const body = definition()
    const [v1] = body.spec.versions
    assert.ok(v1)
    const old = { ...structuredClone(v1), name: 'v1beta1', storage: false, deprecated: true }
    delete (old.schema.openAPIV3Schema.properties.spec.properties as Record<string, unknown>)['colour']
    delete (old as Record<string, unknown>)['selectableFields']
    body.spec.versions.push(old)
    assert.equal((await server.call('POST', definitions, { body })).code, 201)
    await server.call('POST', '/apis/example.com/v1/namespaces/default/widgets', { body: spec('w', { size: 1 }) })
    const shown = await server.call('GET', '/apis/example.com/v1beta1/namespaces/default/widgets/w')
    assert.equal(shown.body.apiVersion, 'example.com/v1beta1')
    assert.deepEqual(shown.body.spec, { size: 1 })
    assert.equal(
      shown.headers['warning'],
      '299 - "example.com/v1beta1 Widget is deprecated; use example.com/v1 Widget"',
    )
  })

  test('another version to store is added to those that are stored', async () => {
    await using server = await startTestServer()
    const body = definition()
    body.spec.versions.push(...body.spec.versions.map((each) => ({ ...each, name: 'v2', storage: false })))
    await server.call('POST', definitions, { body })
    const versions = body.spec.versions.map((each) => ({ ...each, storage: each.name === 'v2' }))
    const headers = { 'content-type': 'application/merge-patch+json' }
    const path = `${definitions}/widgets.example.com`
    const { code, body: changed } = await server.call('PATCH', path, { body: { spec: { versions } }, headers })
    assert.deepEqual([code, changed.status?.storedVersions], [200, ['v1', 'v2']])
  })

  test('a version that is stored may not leave the definition', async () => {
    await using server = await startTestServer()
    await server.call('POST', definitions, { body: definition() })
    const { body } = await server.call('GET', `${definitions}/widgets.example.com`)
    body.spec.versions[0].name = 'v2'
    const { code, body: answer } = await server.call('PUT', `${definitions}/widgets.example.com`, { body })
    assert.equal(code, 422)
    assert.match(
      answer.message,
      /status.storedVersions\[0\]: Invalid value: "v1": missing from spec.versions; v1 was previously a storage version/,
    )
  })
})
