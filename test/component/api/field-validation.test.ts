import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { startTestServer, type TestServer } from '../../helpers/api-server.ts'
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
  const unknown = ['metadata.unknownMeta', 'spec.ports[0].colour', 'spec.unknown']
  const duplicate = ['spec.ports[0].port', 'spec.selector.app']
  const problems = [
    ...unknown.map((path) => `unknown field "${path}"`),
    ...duplicate.map((path) => `duplicate field "${path}"`),
  ]
  const post = (query: string) => server.call('POST', `${paths.services}${query}`, { body: withFaults(names()) })
  const warningsOf = (header: unknown) =>
    String(header ?? '')
      .split(/, (?=299)/)
      .map((text) => text.replace(/^299 - "(.*)"$/, '$1').replaceAll('\\"', '"'))

  test('Ignore is what happens when nothing is said: the last of two counts, what is unknown goes, in silence', async () => {
    for (const query of ['', '?fieldValidation=Ignore']) {
      const reply = await post(query)
      assert.deepEqual([reply.code, reply.headers['warning'], reply.body.spec.ports[0].port], [201, undefined, 81])
    }
  })

  test('Warn does the same and says so', async () => {
    const reply = await post('?fieldValidation=Warn')
    assert.deepEqual([reply.code, warningsOf(reply.headers['warning'])], [201, problems])
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

  test('duplicates of a YAML text are told with their line', async () => {
    const body = `metadata:\n  name: ${names()}\ndata:\n  a: "1"\n  a: "2"\n`
    const headers = { 'content-type': 'application/yaml' }
    const call = (mode: string) =>
      server.call('POST', `${paths.configMaps}?fieldValidation=${mode}&dryRun=All`, { body, headers })
    const text = 'line 5: key "a" already set in map'
    assert.deepEqual((await call('Ignore')).code, 201)
    assert.deepEqual(warningsOf((await call('Warn')).headers['warning']), [text])
    const strict = await call('Strict')
    assert.equal(strict.code, 400)
    assert.ok(strict.body.message.endsWith(`strict decoding error: ${text}`), strict.body.message)
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
      assert.deepEqual([warned.code, warningsOf(warned.headers['warning'])], [200, [problem]])
      assert.equal((await call('Ignore')).code, 200)
    }
  })

  test('an apply is judged like a body', async () => {
    const path = `${paths.configMaps}/${names()}?fieldManager=one&fieldValidation=Strict`
    const headers = { 'content-type': 'application/apply-patch+yaml' }
    const body = 'apiVersion: v1\nkind: ConfigMap\ncolour: red\n'
    const reply = await server.call('PATCH', path, { body, headers })
    assert.equal(reply.code, 400)
    assert.match(reply.body.message, /strict decoding error: unknown field "colour"$/)
  })
})
