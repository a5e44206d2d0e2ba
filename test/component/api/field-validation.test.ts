import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { startTestServer, type TestServer } from '../../helpers/api-server.ts'
import {
  fieldValidationCases,
  gaugeDefinition,
  gauges,
  validBodies,
  warningTexts,
} from '../../helpers/field-validation-cases.ts'
import { paths } from '../../helpers/manifests.ts'

describe('fieldValidation over HTTPS', () => {
  let server: TestServer
  let counter = 0
  before(async () => {
    server = await startTestServer()
  })
  after(() => server.stop())

  const names = () => `checked-${counter++}`
  const withFaults = (name: string) => `{"metadata":{"name":"${name}","unknownMeta":1},
    "spec":{"selector":{"app":"a","app":"b"},"unknown":1,"ports":[{"port":80,"port":81,"colour":"red"}]}}`
  const problems = [
    'unknown field "metadata.unknownMeta"',
    'duplicate field "spec.selector.app"',
    'unknown field "spec.unknown"',
    'duplicate field "spec.ports[0].port"',
    'unknown field "spec.ports[0].colour"',
  ]
  const post = (query: string) => server.call('POST', `${paths.services}${query}`, { body: withFaults(names()) })

  test('Ignore lets the last of two count, and what is unknown go, in silence', async () => {
    const reply = await post('?fieldValidation=Ignore')
    assert.deepEqual([reply.code, reply.headers['warning'], reply.body.spec.ports[0].port], [201, undefined, 81])
  })

  test('Warn, and nothing, do the same and say so', async () => {
    for (const query of ['?fieldValidation=Warn', '']) {
      const reply = await post(query)
      assert.deepEqual([reply.code, warningTexts(reply.headers['warning'])], [201, problems])
    }
  })

  test('the warnings of a request that fails come with its error', async () => {
    const reply = await server.call('POST', paths.services, { body: withFaults('Not-a-name') })
    assert.deepEqual([reply.code, warningTexts(reply.headers['warning'])], [422, problems])
  })

  test('in the platform dialect nothing said is Ignore, and an apply is treated as it is said', async (t) => {
    const platform = await startTestServer({ dialect: 'platform' })
    t.after(() => platform.stop())
    const made = await platform.call('POST', paths.services, { body: withFaults('quiet') })
    assert.deepEqual([made.code, made.headers['warning']], [201, undefined])
    const apply = (mode: string) =>
      platform.call('PATCH', `${paths.configMaps}/applied?fieldManager=one&fieldValidation=${mode}`, {
        body: 'apiVersion: v1\nkind: ConfigMap\ncolour: red\n',
        headers: { 'content-type': 'application/apply-patch+yaml' },
      })
    assert.equal((await apply('Strict')).code, 400)
    const warned = await apply('Warn')
    assert.deepEqual(
      [warned.code, warningTexts(warned.headers['warning'])],
      [201, ['.colour: field not declared in schema']],
    )
    assert.equal((await apply('Ignore')).headers['warning'], undefined)
  })

  test('Strict refuses, with every field', async () => {
    const reply = await post('?fieldValidation=Strict')
    assert.deepEqual([reply.code, reply.body.reason], [400, 'BadRequest'])
    assert.equal(
      reply.body.message,
      `Service in version "v1" cannot be handled as a Service: strict decoding error: ${problems.join(', ')}`,
    )
  })

  test('Strict takes everything that the API itself answers', async () => {
    const { body } = await server.call('POST', `${paths.services}?fieldValidation=Strict`, {
      body: { metadata: { name: names() }, spec: { ports: [{ port: 80 }], selector: { anything: 'goes' } } },
    })
    const reply = await server.call('PUT', `${paths.services}/${body.metadata.name}?fieldValidation=Strict`, { body })
    assert.equal(reply.code, 200, reply.text)
  })

  test('another word is a 422', async () => {
    const reply = await post('?fieldValidation=Loud')
    assert.equal(reply.code, 422)
    assert.match(
      reply.body.message,
      /fieldValidation: Unsupported value: "Loud": supported values: "", "Ignore", "Strict", "Warn"/,
    )
  })

  test('a patch is judged by what it makes of the object, and by its own text', async () => {
    const name = names()
    await server.call('POST', paths.configMaps, { body: { metadata: { name } } })
    const table: readonly (readonly [type: string, body: string, problem: string])[] = [
      ['merge-patch+json', '{"colour":"red"}', 'unknown field "colour"'],
      ['merge-patch+json', '{"data":{"a":"1","a":"2"}}', 'duplicate field "data.a"'],
      ['strategic-merge-patch+json', '{"metadata":{"colour":"red"}}', 'unknown field "metadata.colour"'],
      ['json-patch+json', '[{"op":"add","path":"/colour","value":"red"}]', 'unknown field "colour"'],
      [
        'json-patch+json',
        '[{"op":"add","op":"test","path":"/kind","value":"ConfigMap"}]',
        'json patch duplicate field "[0].op"',
      ],
    ]
    for (const [type, body, problem] of table) {
      const call = (mode: string) =>
        server.call('PATCH', `${paths.configMaps}/${name}?fieldValidation=${mode}&dryRun=All`, {
          body,
          headers: { 'content-type': `application/${type}` },
        })
      const strict = await call('Strict')
      assert.equal(strict.code, 422, strict.text)
      assert.equal(strict.body.details.causes[0].field, 'patch')
      assert.ok(strict.body.message.endsWith(`strict decoding error: ${problem}`), strict.body.message)
      const warned = await call('Warn')
      assert.deepEqual([warned.code, warningTexts(warned.headers['warning'])], [200, [problem]])
      assert.equal((await call('Ignore')).code, 200)
    }
  })

  describe('in the words of Kubernetes', () => {
    before(async () => {
      const path = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions'
      assert.equal((await server.call('POST', path, { body: gaugeDefinition })).code, 201)
    })

    for (const each of fieldValidationCases)
      test(each.title, async () => {
        const name = names()
        const collection = each.kind === 'Service' ? paths.services : gauges
        const send = async (mode: string) => {
          const found = await server.call('GET', `${collection}/${name}`)
          const revision = found.code === 200 ? found.body.metadata.resourceVersion : ''
          const body = each.body.replace('NAME', name).replace('REVISION', revision)
          const path = each.method === 'POST' ? collection : `${collection}/${name}`
          const manager = each.type === 'apply-patch+yaml' ? '&fieldManager=one&force=true' : ''
          const headers = { 'content-type': `application/${each.type}` }
          const query = `fieldValidation=${mode}${manager}&dryRun=All`
          return server.call(each.method, `${path}?${query}`, { body, headers })
        }
        const valid = validBodies[each.kind].replace('NAME', name)
        if (each.method !== 'POST') assert.equal((await server.call('POST', collection, { body: valid })).code, 201)
        const strict = await send('Strict')
        assert.ok(strict.code === 400 || strict.code === 422, strict.text)
        const ending = each.strict.replace('NAME', name)
        assert.equal(strict.body.message.slice(-ending.length), ending)
        const warned = await send('Warn')
        assert.equal(warned.code < 300, each.warnings !== undefined, warned.text)
        assert.deepEqual(warningTexts(warned.headers['warning']), each.warnings ?? [])
      })
  })
})
