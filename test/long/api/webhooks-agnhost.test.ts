import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { startTestServer, type TestServer } from '../../helpers/api-server.ts'
import { configurationOf, webhookOf } from '../../helpers/fake-webhook.ts'
import { findFreePort } from '../../helpers/free-port.ts'
import { httpGet } from '../../helpers/http-get.ts'
import { createSelfSigned } from '../../helpers/self-signed.ts'
import { untilAsync } from '../../helpers/until.ts'

const agnhost = resolve(import.meta.dirname, '../../../.cache/conformance/bin/agnhost')
const group = '/apis/admissionregistration.k8s.io/v1'
const mutating = `${group}/mutatingwebhookconfigurations`
const validating = `${group}/validatingwebhookconfigurations`
const core = '/api/v1/namespaces/default'
const definitions = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions'

function rule(operations: readonly string[], resources: readonly string[], apiGroup = '') {
  return { rules: [{ operations, apiGroups: [apiGroup], apiVersions: ['*'], resources }] }
}

/** The webhook of Kubernetes' own end-to-end tests, as a plain process; what those tests do with it, without a cluster. */
describe("the webhook of Kubernetes' tests", {
  skip: existsSync(agnhost) ? false : 'agnhost is not built: npm run conformance',
}, () => {
  const folder = mkdtempSync(join(tmpdir(), 'plt-agnhost-'))
  const { key, cert } = createSelfSigned()
  let server: TestServer
  let program: ChildProcess
  let port: number
  before(async () => {
    port = await findFreePort()
    for (const [name, text] of Object.entries({ key, cert })) writeFileSync(join(folder, name), text)
    const tls = [`--tls-cert-file=${join(folder, 'cert')}`, `--tls-private-key-file=${join(folder, 'key')}`]
    program = spawn(agnhost, ['webhook', ...tls, `--port=${port}`], { stdio: 'ignore' })
    server = await startTestServer()
    const isReady = async () => {
      const asked = { host: '127.0.0.1', port, path: '/readyz', ca: cert }
      return (await httpGet(asked).catch(() => undefined))?.status === 200
    }
    await untilAsync('agnhost answers', isReady, 30_000)
    await post(definitions, definition)
  })
  after(async () => {
    program.kill()
    await server.stop()
    rmSync(folder, { recursive: true, force: true })
  })

  const post = async (path: string, body: object) => {
    const answer = await server.call('POST', path, { body })
    assert.equal(answer.code, 201, answer.text)
    return answer.body
  }
  const refusalOf = async (method: string, path: string, body?: object, type = 'application/json') => {
    const answer = await server.call(method, path, { body, headers: { 'content-type': type } })
    assert.ok(answer.code >= 400, answer.text)
    return answer.body.message as string
  }
  const hook = (path: string, fields: object) => {
    const caBundle = Buffer.from(cert).toString('base64')
    return webhookOf({ url: `https://127.0.0.1:${port}${path}`, caBundle }, { ...fields })
  }
  const install = async (kind: string, ...webhooks: readonly object[]) => {
    const named = webhooks.map((each, index) => ({ ...each, name: `w${index}.example.com` }))
    await post(kind, configurationOf('installed', ...named))
    return { [Symbol.asyncDispose]: async () => void (await server.call('DELETE', `${kind}/installed`)) }
  }

  test('denies pods and config maps, their updates too', async () => {
    await using _ = await install(
      validating,
      hook('/pods', rule(['CREATE'], ['pods'])),
      hook('/configmaps', rule(['CREATE', 'UPDATE', 'DELETE'], ['configmaps'])),
    )
    const container = { name: 'webhook-disallow', image: 'i' }
    const pod = {
      metadata: { name: 'p', labels: { 'webhook-e2e-test': 'webhook-disallow' } },
      spec: { containers: [container] },
    }
    assert.match(await refusalOf('POST', `${core}/pods`, pod), /denied the request: .*unwanted container name/)
    const unwanted = { data: { 'webhook-e2e-test': 'webhook-disallow' } }
    const denied = /denied the request: the configmap contains unwanted key and value/
    assert.match(await refusalOf('POST', `${core}/configmaps`, { metadata: { name: 'a' }, ...unwanted }), denied)
    await post(`${core}/configmaps`, { metadata: { name: 'b' } })
    const path = `${core}/configmaps/b`
    assert.match(await refusalOf('PUT', path, { metadata: { name: 'b' }, ...unwanted }), denied)
    assert.match(await refusalOf('PATCH', path, unwanted, 'application/merge-patch+json'), denied)
    assert.equal((await server.call('DELETE', path)).code, 200)
  })

  test('two mutating webhooks change a config map in turns', async () => {
    await using _ = await install(
      mutating,
      hook('/mutating-configmaps', rule(['CREATE'], ['configmaps'])),
      hook('/mutating-configmaps', rule(['CREATE'], ['configmaps'])),
    )
    const { data } = await post(`${core}/configmaps`, { metadata: { name: 'm' }, data: { 'mutation-start': 'yes' } })
    const stages = { 'mutation-stage-1': 'yes', 'mutation-stage-2': 'yes' }
    assert.deepEqual(data, { 'mutation-start': 'yes', ...stages })
  })

  test('an init container that a webhook adds has its defaults', async () => {
    await using _ = await install(mutating, hook('/mutating-pods', rule(['CREATE'], ['pods'])))
    const pod = { metadata: { name: 'webhook-to-be-mutated' }, spec: { containers: [{ name: 'c', image: 'i' }] } }
    const [added] = (await post(`${core}/pods`, pod)).spec.initContainers
    assert.equal(added.name, 'webhook-added-init-container')
    assert.equal(added.terminationMessagePolicy, 'File')
  })

  test('denies an attach', async () => {
    const pod = { metadata: { name: 'to-be-attached-pod' }, spec: { containers: [{ name: 'container1', image: 'i' }] } }
    await post(`${core}/pods`, pod)
    await using _ = await install(validating, hook('/pods/attach', rule(['CONNECT'], ['pods/attach'])))
    const path = `${core}/pods/to-be-attached-pod/attach?container=container1&stdin=true&stdout=true`
    assert.match(await refusalOf('POST', path), /attaching to pod 'to-be-attached-pod' is not allowed/)
  })

  test('denies and changes custom resources, and denies their deletion', async () => {
    const boats = '/apis/example.com/v1/namespaces/default/boats'
    const boat = (name: string, data: object) => ({
      apiVersion: 'example.com/v1',
      kind: 'Boat',
      metadata: { name },
      data,
    })
    const first = await install(mutating, hook('/mutating-custom-resource', rule(['CREATE'], ['boats'], 'example.com')))
    const { data } = await post(boats, boat('a', { 'mutation-start': 'yes' }))
    assert.equal(data['mutation-stage-1'], 'yes')
    await first[Symbol.asyncDispose]()
    await post(boats, boat('kept', { 'webhook-e2e-test': 'webhook-nondeletable' }))
    const operations = ['CREATE', 'UPDATE', 'DELETE']
    await using _ = await install(validating, hook('/custom-resource', rule(operations, ['boats'], 'example.com')))
    const denied = /the custom resource contains unwanted data/
    assert.match(await refusalOf('POST', boats, boat('b', { 'webhook-e2e-test': 'webhook-disallow' })), denied)
    assert.match(
      await refusalOf('DELETE', `${boats}/kept`),
      /cannot be deleted because it contains unwanted key and value/,
    )
  })

  test('denies a definition', async () => {
    await using _ = await install(validating, hook('/crd', rule(['CREATE'], ['*'], 'apiextensions.k8s.io')))
    const names = { plural: 'ships', kind: 'Ship', singular: 'ship' }
    const labels = { 'webhook-e2e-test': 'webhook-disallow' }
    const ships = {
      ...definition,
      metadata: { name: 'ships.example.com', labels },
      spec: { ...definition.spec, names },
    }
    assert.match(await refusalOf('POST', definitions, ships), /the crd contains unwanted label/)
  })

  test('a slow answer is a failure by its timeout and failure policy', async () => {
    const slow = (fields: object) => hook('/always-allow-delay-5s', { ...rule(['CREATE'], ['configmaps']), ...fields })
    const first = await install(validating, slow({ timeoutSeconds: 1 }))
    const path = `${core}/configmaps`
    assert.match(await refusalOf('POST', path, { metadata: { name: 's' } }), /timeout=1s": context deadline exceeded$/)
    await first[Symbol.asyncDispose]()
    const second = await install(validating, slow({ timeoutSeconds: 1, failurePolicy: 'Ignore' }))
    await post(`${core}/configmaps`, { metadata: { name: 's1' } })
    await second[Symbol.asyncDispose]()
    await using _ = await install(validating, slow({}))
    await post(`${core}/configmaps`, { metadata: { name: 's2' } })
  })

  test('configurations of webhooks are neither denied nor changed', async () => {
    const all = rule(['*'], ['*'], 'admissionregistration.k8s.io')
    await using _denying = await install(validating, hook('/always-deny', all))
    await using _changing = await install(mutating, hook('/add-label', all))
    const body = await post(validating, configurationOf('free', hook('/always-deny', rule(['CREATE'], ['nothing']))))
    assert.equal(body.metadata.labels, undefined)
    assert.equal((await server.call('DELETE', `${validating}/free`)).code, 200)
  })
})

const schema = {
  openAPIV3Schema: {
    type: 'object',
    properties: { data: { type: 'object', additionalProperties: { type: 'string' } } },
  },
}
const definition = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: 'boats.example.com' },
  spec: {
    group: 'example.com',
    scope: 'Namespaced',
    names: { plural: 'boats', kind: 'Boat', singular: 'boat' },
    versions: [{ name: 'v1', served: true, storage: true, schema }],
  },
}
