import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { readYaml } from '../../../src/api/decode/yaml-text.ts'
import { type Reply, startTestServer, type TestServer } from '../../helpers/api-server.ts'
import { configMap, paths } from '../../helpers/manifests.ts'

describe('lists', () => {
  let server: TestServer
  before(async () => {
    server = await startTestServer()
    for (const name of ['e', 'b', 'd', 'a', 'c']) {
      await server.call('POST', paths.configMaps, {
        body: configMap(name, {}, { parity: name < 'c' ? 'low' : 'high' }),
      })
    }
    await server.call('POST', '/api/v1/namespaces/kube-system/configmaps', { body: configMap('z') })
  })
  after(() => server.stop())

  const get = (query: string, collection: string = paths.configMaps) => server.call('GET', `${collection}${query}`)
  const names = ({ body }: Reply) => body.items.map((item: { metadata: { name: string } }) => item.metadata.name)

  test('a list is in order of names and carries the revision', async () => {
    const reply = await get('')
    assert.deepEqual(names(reply), ['a', 'b', 'c', 'd', 'e'])
    assert.deepEqual([reply.body.kind, reply.body.apiVersion], ['ConfigMapList', 'v1'])
    assert.equal(reply.body.metadata.resourceVersion, String(server.store.revision))
    assert.match(reply.body.items[0].metadata.resourceVersion, /^\d+$/)
  })

  test('managed fields are left out of a list where the client asks so, and no others', async () => {
    const [whole, without] = [await get(''), await get('?omitManagedFields=true')]
    assert.equal(whole.body.items[0].metadata.managedFields.length, 1)
    assert.deepEqual((await get('?omitManagedFields=False')).body, whole.body)
    for (const { metadata } of whole.body.items) delete metadata.managedFields
    assert.deepEqual(without.body, whole.body)
    assert.deepEqual((await get('?omitManagedFields')).body, whole.body)
  })

  test('a switch is on by any text but false and 0, and the first of several values counts, as in Kubernetes', async () => {
    const isWatch = async (query: string) => {
      const { value } = await server.watch(paths.configMaps + query).next()
      return value?.type === 'ADDED'
    }
    for (const off of ['?watch=0', '?watch=FALSE', '?watch=false&watch=true&timeoutSeconds=1'])
      assert.equal(await isWatch(off), false, off)
    for (const on of ['?watch&timeoutSeconds=1', '?watch=yes&timeoutSeconds=1', '?watch=1&watch=0&timeoutSeconds=1'])
      assert.equal(await isWatch(on), true, on)
    assert.equal((await get('?limit=1&limit=x')).body.items.length, 1)
    const selected = await get('?fieldSelector=metadata.name%3Dc&fieldSelector=metadata.name%3Dd')
    assert.deepEqual(names(selected), ['c'])
  })

  test('all namespaces come by namespace, then name', async () => {
    // The server itself keeps one in kube-system.
    const expected = ['a', 'b', 'c', 'd', 'e', 'extension-apiserver-authentication', 'z']
    assert.deepEqual(names(await get('', '/api/v1/configmaps')), expected)
  })

  test('selectors pick by labels and by fields', async () => {
    const table: readonly (readonly [query: string, expected: string[]])[] = [
      ['?labelSelector=parity%3Dlow', ['a', 'b']],
      ['?labelSelector=parity%20notin%20(low)', ['c', 'd', 'e']],
      ['?labelSelector=!parity', []],
      ['?fieldSelector=metadata.name%3Dc', ['c']],
      ['?fieldSelector=metadata.name!%3Dc&labelSelector=parity%3Dhigh', ['d', 'e']],
    ]
    for (const [query, expected] of table) assert.deepEqual(names(await get(query)), expected, query)
    const unknown = await get('?fieldSelector=spec.nope%3Dx')
    assert.deepEqual([unknown.code, unknown.body.message], [400, 'field label not supported: spec.nope'])
    assert.equal((await get('?labelSelector=a%3D%3D%3Db')).code, 400)
  })

  test('pages show the state of the first one, whatever changes meanwhile', async () => {
    const first = await get('?limit=2')
    assert.deepEqual(names(first), ['a', 'b'])
    await server.call('POST', paths.configMaps, { body: configMap('bb') })
    await server.call('DELETE', `${paths.configMaps}/d`)
    const second = await get(`?limit=2&continue=${first.body.metadata.continue}`)
    assert.deepEqual(names(second), ['c', 'd'])
    const third = await get(`?limit=2&continue=${second.body.metadata.continue}`)
    assert.deepEqual(names(third), ['e'])
    assert.equal(third.body.metadata.continue, undefined)
    assert.equal(third.body.metadata.resourceVersion, first.body.metadata.resourceVersion)
    await server.call('DELETE', `${paths.configMaps}/bb`)
    await server.call('POST', paths.configMaps, { body: configMap('d', {}, { parity: 'high' }) })
  })

  test('a page with a selector is full as long as there is more', async () => {
    const first = await get('?limit=2&labelSelector=parity%3Dhigh')
    assert.deepEqual(names(first), ['c', 'd'])
    const second = await get(`?limit=2&labelSelector=parity%3Dhigh&continue=${first.body.metadata.continue}`)
    assert.deepEqual(names(second), ['e'])
    assert.equal(second.body.metadata.continue, undefined)
  })

  test('a page whose revision is forgotten is a 410 with a token that goes on from now', async () => {
    const first = await get('?limit=2')
    await server.call('POST', paths.configMaps, { body: configMap('f') })
    await server.store.compact(server.store.revision)
    const gone = await get(`?limit=2&continue=${first.body.metadata.continue}`)
    assert.deepEqual([gone.code, gone.body.reason], [410, 'Expired'])
    const fresh = await get(`?continue=${gone.body.metadata.continue}`)
    assert.deepEqual(names(fresh), ['c', 'd', 'e', 'f'])
    assert.equal((await get('?continue=nonsense')).code, 400)
  })

  test('an exact revision is that very state', async () => {
    const before = server.store.revision
    await server.call('POST', paths.configMaps, { body: configMap('later') })
    const exact = await get(`?resourceVersion=${before}&resourceVersionMatch=Exact`)
    assert.ok(!names(exact).includes('later'))
    assert.equal(exact.body.metadata.resourceVersion, String(before))
    assert.ok(names(await get('?resourceVersion=0')).includes('later'))
  })

  test('a page says how many items follow, unless a selector hides that', async () => {
    const count = async (query: string) => (await get(query)).body.metadata.remainingItemCount
    const all = (await get('')).body.items.length
    assert.equal(await count('?limit=2'), all - 2)
    const { continue: token } = (await get('?limit=2')).body.metadata
    assert.equal(await count(`?limit=2&continue=${token}`), all - 4)
    assert.equal(await count('?limit=2&labelSelector=parity'), undefined)
    assert.equal(await count(`?limit=${all}`), undefined)
    assert.equal(await count(''), undefined)
  })

  test('options that do not go together are refused in the words of Kubernetes', async () => {
    const { continue: token } = (await get('?limit=2')).body.metadata
    const match = 'ListOptions.meta.k8s.io "" is invalid: resourceVersionMatch:'
    const withContinue = 'Forbidden: resourceVersionMatch is forbidden when continue is provided'
    const table: readonly (readonly [query: string, code: number, message: string])[] = [
      [
        'resourceVersionMatch=Exact',
        422,
        `${match} Forbidden: resourceVersionMatch is forbidden unless resourceVersion is provided`,
      ],
      [
        'resourceVersionMatch=Exact&resourceVersion=0',
        422,
        `${match} Forbidden: resourceVersionMatch "exact" is forbidden for resourceVersion "0"`,
      ],
      [
        'resourceVersionMatch=Newest&resourceVersion=3',
        422,
        `${match} Unsupported value: "Newest": supported values: "Exact", "NotOlderThan", ""`,
      ],
      [`resourceVersionMatch=NotOlderThan&resourceVersion=3&continue=${token}`, 422, `${match} ${withContinue}`],
      [
        'sendInitialEvents=true',
        422,
        'ListOptions.meta.k8s.io "" is invalid: sendInitialEvents: Forbidden: sendInitialEvents is forbidden for list',
      ],
      [`resourceVersion=3&continue=${token}`, 400, 'specifying resource version is not allowed when using continue'],
    ]
    for (const [query, code, message] of table) {
      const reply = await get(`?${query}`)
      assert.deepEqual([reply.code, reply.body.message], [code, message])
    }
    assert.equal((await get(`?resourceVersion=0&continue=${token}`)).code, 200)
  })

  test('a revision that does not come in time is a 504, for one object too, however long the number', async () => {
    const tooLarge = '18446744073709551615'
    const queries = ['', '/a', ''].map((item, index) =>
      server.call('GET', `${paths.configMaps}${item}?resourceVersion=${index < 2 ? tooLarge : 999_999}`),
    )
    const exact = get('?resourceVersion=999999&resourceVersionMatch=Exact')
    for (const reply of await Promise.all([...queries, exact])) {
      assert.deepEqual([reply.code, reply.body.reason], [504, 'Timeout'])
      assert.match(reply.body.message, /^Timeout: Too large resource version: \d+, current: \d+$/)
      assert.equal(reply.body.details.causes[0].reason, 'ResourceVersionTooLarge')
      assert.equal(reply.headers['retry-after'], '1')
    }
  })

  test('a revision that comes while the list waits is served', async () => {
    const next = server.store.revision + 1
    const waiting = get(`?resourceVersion=${next}&resourceVersionMatch=NotOlderThan`)
    const created = await server.call('POST', paths.configMaps, { body: configMap('in-time') })
    const reply = await waiting
    assert.ok(names(reply).includes('in-time'))
    assert.ok(Number(reply.body.metadata.resourceVersion) >= Number(created.body.metadata.resourceVersion))
  })

  test('an exact revision that is forgotten, and a token from the future of another store, are a 410', async () => {
    const old = await get(`?resourceVersion=1&resourceVersionMatch=Exact`)
    assert.deepEqual([old.code, old.body.reason], [410, 'Expired'])
    assert.match(old.body.message, /^too old resource version: 1 \(\d+\)$/)
    const start = JSON.stringify({ v: 'meta.k8s.io/v1', rv: 1e9, start: 'default/b' })
    const future = await get(`?continue=${Buffer.from(start).toString('base64url')}`)
    assert.equal(future.code, 410)
    assert.equal((await get(`?continue=${future.body.metadata.continue}`)).code, 200)
  })

  test('one name is found among those that begin like it, page by page too', async () => {
    for (const name of ['web', 'web-1', 'web-2']) await server.call('POST', paths.configMaps, { body: configMap(name) })
    const reply = await get('?fieldSelector=metadata.name%3Dweb&limit=1')
    assert.deepEqual(names(reply), ['web'])
    const rest = await get(`?fieldSelector=metadata.name%3Dweb&limit=1&continue=${reply.body.metadata.continue}`)
    assert.deepEqual([rest.code, rest.body.items], [200, []])
    assert.deepEqual(names(await get('?fieldSelector=metadata.name%3Dweb', '/api/v1/configmaps')), ['web'])
    assert.deepEqual(names(await get('?fieldSelector=metadata.name%3Ddefault', '/api/v1/namespaces')), ['default'])
  })

  test('a Table has the columns of its kind', async () => {
    const accept = 'application/json;as=Table;v=v1;g=meta.k8s.io,application/json'
    const reply = await server.call('GET', paths.services, { headers: { accept } })
    assert.deepEqual([reply.body.kind, reply.body.apiVersion], ['Table', 'meta.k8s.io/v1'])
    const columns = reply.body.columnDefinitions.map(({ name }: { name: string }) => name)
    assert.deepEqual(columns, ['Name', 'Type', 'Cluster-IP', 'External-IP', 'Port(s)', 'Age', 'Selector'])
    const { cells, object } = reply.body.rows[0]
    assert.deepEqual(cells.slice(0, 5), ['kubernetes', 'ClusterIP', '10.96.0.1', '<none>', '443/TCP'])
    assert.equal(object.kind, 'PartialObjectMetadata')
  })

  test('the rows of a Table come with metadata, whole objects or nothing, as includeObject says', async () => {
    const headers = { accept: 'application/json;as=Table;v=v1;g=meta.k8s.io' }
    const objectFor = async (include: string) => {
      const reply = await server.call('GET', `${paths.services}?includeObject=${include}`, { headers })
      return reply.body.rows?.[0].object ?? reply.body.message ?? null
    }
    assert.equal((await objectFor('Metadata')).kind, 'PartialObjectMetadata')
    const whole = await objectFor('Object')
    assert.deepEqual([whole.kind, whole.spec.clusterIP], ['Service', '10.96.0.1'])
    assert.equal(await objectFor('None'), null)
    assert.match(await objectFor('Half'), /includeObject: Invalid value: "Half": must be 'Metadata', 'Object', 'None'/)
  })

  test('who asks for metadata alone gets no content, of one object and of many', async () => {
    await server.call('POST', paths.configMaps, { body: { ...configMap('reduced'), data: { a: '1' } } })
    const accept =
      'application/vnd.kubernetes.protobuf;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1'
    const one = await server.call('GET', `${paths.configMaps}/reduced`, { headers: { accept } })
    assert.deepEqual(Object.keys(one.body).sort(), ['apiVersion', 'kind', 'metadata'])
    assert.deepEqual([one.body.kind, one.body.apiVersion], ['PartialObjectMetadata', 'meta.k8s.io/v1'])
    const ofList = accept.replaceAll('PartialObjectMetadata', 'PartialObjectMetadataList')
    const all = await server.call('GET', paths.configMaps, { headers: { accept: ofList } })
    assert.deepEqual([all.body.kind, all.body.apiVersion], ['PartialObjectMetadataList', 'meta.k8s.io/v1'])
    assert.deepEqual(
      all.body.items.find(({ metadata }: { metadata: { name: string } }) => metadata.name === 'reduced'),
      one.body,
    )
    const missing = await server.call('GET', `${paths.configMaps}/none`, { headers: { accept } })
    assert.deepEqual([missing.code, missing.body.kind], [404, 'Status'])
  })

  test('metadata alone has one name for an object and one for a list, as in kube-apiserver', async () => {
    const accept = (as: string) => `application/json;as=${as};g=meta.k8s.io;v=v1,application/json`
    const list = { headers: { accept: accept('PartialObjectMetadata') } }
    const one = { headers: { accept: accept('PartialObjectMetadataList') } }
    for (const [path, options, expected] of [
      [paths.services, list, /^you requested PartialObjectMetadata, but the requested object is a list /],
      [`${paths.services}/kubernetes`, one, /^you requested PartialObjectMetadataList, but .* is not a list /],
    ] as const) {
      const { code, body } = await server.call('GET', path, options)
      assert.deepEqual([code, body.reason], [406, 'NotAcceptable'])
      assert.match(body.message, expected)
    }
  })

  test('YAML comes and goes', async () => {
    const body = 'metadata:\n  name: from-yaml\ndata:\n  a: "1"\n'
    const headers = { 'content-type': 'application/yaml', accept: 'application/yaml' }
    const reply = await server.call('POST', paths.configMaps, { body, headers })
    assert.equal(reply.code, 201)
    assert.equal(reply.headers['content-type'], 'application/yaml')
    assert.match(reply.text, /^kind: ConfigMap\napiVersion: v1\nmetadata:\n/)
  })

  test('a list in YAML says what it says in JSON', async () => {
    const data = {
      word: 'yes',
      number: '012',
      text: 'a\n\n  b\n\n',
      blank: ' ',
      empty: '',
      colon: 'a: b',
      'a b': '- c',
    }
    await server.call('POST', paths.configMaps, { body: { metadata: { name: 'all-sorts' }, data } })
    const json = await server.call('GET', paths.configMaps)
    const yaml = await server.call('GET', paths.configMaps, { headers: { accept: 'application/yaml' } })
    assert.deepEqual(JSON.parse(readYaml(yaml.text).json), json.body)
    const path = `${paths.configMaps}?labelSelector=none=such`
    const none = await server.call('GET', path, { headers: { accept: 'application/yaml' } })
    assert.deepEqual(JSON.parse(readYaml(none.text).json).items, [])
  })
})
