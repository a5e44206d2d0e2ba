import assert from 'node:assert/strict'
import { after, before, beforeEach, describe, test } from 'node:test'
import { startTestServer, type TestServer } from '../../../helpers/api-server.ts'
import {
  configurationOf,
  type FakeWebhook,
  patching,
  startFakeWebhook,
  webhookOf,
} from '../../../helpers/fake-webhook.ts'
import { createRecordingLogger } from '../../../helpers/recording-logger.ts'
import { createRecordingTracer } from '../../../helpers/recording-tracer.ts'

const group = '/apis/admissionregistration.k8s.io/v1'
const mutating = `${group}/mutatingwebhookconfigurations`
const validating = `${group}/validatingwebhookconfigurations`
const configMaps = '/api/v1/namespaces/default/configmaps'

describe('webhooks', () => {
  let server: TestServer
  let webhook: FakeWebhook
  const { log, lines } = createRecordingLogger()
  const { tracer, spans } = createRecordingTracer()
  before(async () => {
    webhook = await startFakeWebhook('hook.default.svc')
    server = await startTestServer({ log, tracer, mayReach: (address) => address === '127.0.0.1' })
  })
  after(async () => {
    await server.stop()
    await webhook[Symbol.asyncDispose]()
  })
  beforeEach(async () => {
    for (const path of [mutating, validating, configMaps]) await server.call('DELETE', path)
    webhook.take()
    lines.length = 0
    spans.length = 0
  })

  const post = async (path: string, body: object) => {
    const answer = await server.call('POST', path, { body })
    assert.equal(answer.code, 201, answer.text)
    return answer
  }
  const create = (name = 'a') => server.call('POST', configMaps, { body: { metadata: { name }, data: { k: 'v' } } })
  const metricLines = async (text: string) => {
    const { text: all } = await server.call('GET', '/metrics')
    return all.split('\n').filter((line) => line.includes(text))
  }

  test('the write after the one of a configuration is asked about, and none after its deletion', async () => {
    webhook.answer('/deny', { allowed: false, status: { code: 403, reason: 'Forbidden', message: 'no' } })
    await post(validating, configurationOf('deny', webhookOf(webhook.clientConfig('/deny'))))
    const { code, body } = await create()
    assert.deepEqual([code, body.reason], [403, 'Forbidden'])
    assert.equal(body.message, 'admission webhook "a.example.com" denied the request: no')
    await server.call('DELETE', `${validating}/deny`)
    assert.equal((await create()).code, 201)
    assert.equal(webhook.take().length, 1)
  })

  test('configurations are asked in the order of their names, one after the other', async () => {
    for (const name of ['c', 'a', 'b'])
      await post(mutating, configurationOf(name, webhookOf(webhook.clientConfig(`/order/${name}`))))
    assert.equal((await create()).code, 201)
    assert.deepEqual(
      webhook.take().map(({ path }) => path),
      ['/order/a', '/order/b', '/order/c'],
    )
  })

  test('validating webhooks see what mutating ones made, which is validated', async () => {
    webhook.answer('/change', patching({ op: 'add', path: '/data/x', value: 'y' }))
    await post(mutating, configurationOf('change', webhookOf(webhook.clientConfig('/change'))))
    await post(validating, configurationOf('see', webhookOf(webhook.clientConfig('/see'))))
    assert.deepEqual((await create()).body.data, { k: 'v', x: 'y' })
    const [, seen] = webhook.take()
    assert.deepEqual(seen?.request.object.data, { k: 'v', x: 'y' })
    webhook.answer('/change', patching({ op: 'add', path: '/data/not a key', value: 'y' }))
    const { code, body } = await create('b')
    assert.deepEqual([code, body.reason, webhook.take().length], [422, 'Invalid', 1])
  })

  test('validating webhooks are asked at the same time', { timeout: 20_000 }, async () => {
    const waiting: (() => void)[] = []
    webhook.answer('/together', (response, { apiVersion, kind, request }) => {
      const body = JSON.stringify({ apiVersion, kind, response: { uid: request.uid, allowed: true } })
      waiting.push(() => response.end(body))
      if (waiting.length === 2) for (const answer of waiting) answer()
    })
    const hook = (name: string) => webhookOf(webhook.clientConfig('/together'), { name })
    await post(validating, configurationOf('two', hook('a.example.com'), hook('b.example.com')))
    assert.equal((await create()).code, 201)
  })

  test('a webhook that is down blocks writes, but not its own removal', async () => {
    const everything = [{ operations: ['*'], apiGroups: ['*'], apiVersions: ['*'], resources: ['*/*'] }]
    const clientConfig = { url: 'https://127.0.0.1:1/x' }
    await post(validating, configurationOf('down', webhookOf(clientConfig, { rules: everything })))
    const { code, body } = await create()
    assert.deepEqual([code, body.reason], [500, 'InternalError'])
    assert.match(
      body.message,
      /^Internal error occurred: failed calling webhook "a.example.com": failed to call webhook: Post "https:\/\/127.0.0.1:1\/x\?timeout=10s": dial tcp 127.0.0.1:1: connect: connection refused$/,
    )
    assert.equal((await server.call('GET', configMaps)).code, 200)
    const ignoring = { webhooks: [webhookOf(clientConfig, { rules: everything, failurePolicy: 'Ignore' })] }
    const headers = { 'content-type': 'application/merge-patch+json' }
    assert.equal((await server.call('PATCH', `${validating}/down`, { body: ignoring, headers })).code, 200)
    assert.equal((await create()).code, 201)
    assert.deepEqual(
      lines.filter((line) => line.includes('webhook')),
      ['warn a webhook could not be asked', 'warn a webhook could not be asked, and is ignored'],
    )
    assert.deepEqual(await metricLines('webhook_failed_open_total{'), [
      'platnet_admission_webhook_failed_open_total{name="a.example.com",type="validating"} 1',
    ])
    assert.equal((await server.call('DELETE', `${validating}/down`)).code, 200)
    assert.deepEqual(await metricLines('a.example.com'), [])
  })

  test('calls are counted under the names of kube-apiserver', async () => {
    webhook.answer('/counted', { allowed: false, status: { code: 418 } })
    await post(
      validating,
      configurationOf('counted', webhookOf(webhook.clientConfig('/counted'), { name: 'c.example.com' })),
    )
    await create()
    assert.deepEqual(await metricLines('_request_total{name="c.example.com"'), [
      'apiserver_admission_webhook_request_total{name="c.example.com",type="validating",operation="CREATE",code="418",rejected="true"} 1',
    ])
    assert.deepEqual(await metricLines('_rejections_total{name="c.example.com"'), [
      'platnet_admission_webhook_rejections_total{name="c.example.com",type="validating",operation="CREATE",error_type="no_error",rejection_code="418"} 1',
    ])
  })

  test('a Service leads to a ready endpoint of its slices, which has the certificate of its name', async () => {
    await post('/api/v1/namespaces/default/services', {
      metadata: { name: 'hook' },
      spec: { ports: [{ name: 'https', port: 443 }] },
    })
    const slice = {
      kind: 'EndpointSlice',
      apiVersion: 'discovery.k8s.io/v1',
      metadata: { name: 'hook-1', namespace: 'default', labels: { 'kubernetes.io/service-name': 'hook' } },
      addressType: 'IPv4',
      ports: [{ name: 'https', port: webhook.port }],
      endpoints: [
        { addresses: ['127.0.0.2'], conditions: { ready: false } },
        { addresses: ['127.0.0.1'], conditions: { ready: true } },
      ],
    }
    const clientConfig = {
      service: { namespace: 'default', name: 'hook', path: '/service' },
      caBundle: webhook.caBundle,
    }
    await post(validating, configurationOf('service', webhookOf(clientConfig)))
    const none = await create()
    assert.match(
      none.body.message,
      /Post "https:\/\/hook.default.svc:443\/service\?timeout=10s": no endpoints available for service "hook"$/,
    )
    // No client may write a slice with a loopback address.
    const key = '/registry/endpointslices/default/hook-1'
    await server.store.commit([{ kind: 'put', key, value: JSON.stringify(slice), expectedRevision: 0 }])
    assert.equal((await create()).code, 201)
    assert.deepEqual(
      webhook.take().map(({ path }) => path),
      ['/service'],
    )
  })

  test('a certificate of another authority is refused', async () => {
    const other = await startFakeWebhook()
    const clientConfig = { ...webhook.clientConfig(), caBundle: other.caBundle }
    await post(validating, configurationOf('foreign', webhookOf(clientConfig)))
    const { body } = await create()
    await other[Symbol.asyncDispose]()
    assert.match(body.message, /tls: failed to verify certificate: x509: certificate signed by unknown authority$/)
    assert.deepEqual(webhook.take(), [])
  })

  test('no request goes to an address that is no place of a webhook', async () => {
    for (const address of ['169.254.169.254', '[fd00:ec2::254]', '[::ffff:169.254.169.254]', '0.0.0.0']) {
      await post(validating, configurationOf('away', webhookOf({ url: `https://${address}/x` })))
      assert.match((await create()).body.message, /: address not allowed$/)
      await server.call('DELETE', `${validating}/away`)
    }
  })

  test('an answer that has no end is cut off', async () => {
    const chunk = Buffer.alloc(1024 * 1024, 'a')
    webhook.answer('/endless', (response) => {
      const write = (error?: Error | null) => {
        if (!error) response.write(chunk, write)
      }
      write()
    })
    await post(validating, configurationOf('endless', webhookOf(webhook.clientConfig('/endless'))))
    assert.match((await create()).body.message, /the answer has more than \d+ bytes$/)
  })

  test('connections are kept, and a webhook that has closed one is asked on another', async () => {
    await post(validating, configurationOf('kept', webhookOf(webhook.clientConfig('/kept'))))
    const made = webhook.connections
    for (let index = 0; index < 5; index++) assert.equal((await create(`kept-${index}`)).code, 201)
    assert.ok(webhook.connections - made <= 1)
    let hasEnded = false
    webhook.answer('/kept', (response, { apiVersion, kind, request }) => {
      if (!hasEnded) {
        hasEnded = true
        response.destroy()
        return
      }
      response.end(JSON.stringify({ apiVersion, kind, response: { uid: request.uid, allowed: true } }))
    })
    assert.equal((await create('kept-5')).code, 201)
  })

  test('the trace goes on in the webhook, in a span of its own', async () => {
    let traceparent: string | undefined
    webhook.answer('/traced', (response, { apiVersion, kind, request }, { headers }) => {
      traceparent = headers['traceparent'] as string
      response.end(JSON.stringify({ apiVersion, kind, response: { uid: request.uid, allowed: true } }))
    })
    await post(validating, configurationOf('traced', webhookOf(webhook.clientConfig('/traced'))))
    await create()
    const span = spans.find(({ name }) => name === 'call validating webhook')
    assert.equal(span?.attributes['platnet.webhook'], 'a.example.com')
    assert.ok(traceparent?.includes(span?.context.spanId ?? 'none'), String(traceparent))
  })

  test('questions about access are asked about too, as in Kubernetes', async () => {
    const everything = [{ operations: ['*'], apiGroups: ['*'], apiVersions: ['*'], resources: ['*/*'] }]
    await post(validating, configurationOf('all', webhookOf(webhook.clientConfig('/all'), { rules: everything })))
    const body = { spec: { nonResourceAttributes: { path: '/healthz', verb: 'get' } } }
    const review = await server.call('POST', '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews', { body })
    assert.equal(review.code, 201)
    assert.deepEqual(
      webhook.take().map(({ request }) => request.kind.kind),
      ['SelfSubjectAccessReview'],
    )
  })

  test('a Pod that a webhook changes is admitted again: no webhook leads around the bounds of a namespace', async () => {
    const podRules = { rules: [{ operations: ['CREATE'], apiGroups: [''], apiVersions: ['v1'], resources: ['pods'] }] }
    const namespace = '/api/v1/namespaces/bounded'
    await post('/api/v1/namespaces', { metadata: { name: 'bounded' } })
    await post(`${namespace}/limitranges`, {
      metadata: { name: 'l' },
      spec: { limits: [{ type: 'Container', max: { cpu: '1' }, default: { cpu: '500m' } }] },
    })
    const body = { metadata: { name: 'p' }, spec: { containers: [{ name: 'a', image: 'i' }] } }
    const inject = (resources: object) =>
      webhook.answer(
        '/inject',
        patching({ op: 'add', path: '/spec/containers/-', value: { name: 'b', image: 'i', resources } }),
      )
    await post(mutating, configurationOf('inject', webhookOf(webhook.clientConfig('/inject'), podRules)))
    inject({ limits: { cpu: '2' } })
    const refused = await server.call('POST', `${namespace}/pods`, { body })
    assert.deepEqual([refused.code, refused.body.reason], [403, 'Forbidden'])
    inject({})
    const made = await post(`${namespace}/pods`, body)
    const limits = made.body.spec.containers.map(({ resources }: { resources: object }) => resources)
    assert.deepEqual(
      limits,
      [1, 2].map(() => ({ limits: { cpu: '500m' }, requests: { cpu: '500m' } })),
    )
  })

  test('match conditions leave requests out; one that fails refuses the request or leaves the webhook out', async () => {
    const condition = (expression: string) => [{ name: 'c', expression }]
    const ask = async (expression: string, failurePolicy = 'Fail') => {
      const fields = { matchConditions: condition(expression), failurePolicy }
      await post(validating, configurationOf('conditional', webhookOf(webhook.clientConfig('/conditional'), fields)))
      const { code, body } = await server.call('POST', `${configMaps}?dryRun=All`, {
        body: { metadata: { name: 'c' }, data: { k: 'v' } },
      })
      await server.call('DELETE', `${validating}/conditional`)
      return { code, message: body.message, asked: webhook.take().length }
    }
    assert.deepEqual(await ask("object.data.k == 'v'"), { code: 201, message: undefined, asked: 1 })
    assert.deepEqual(await ask("object.data.k == 'w'"), { code: 201, message: undefined, asked: 0 })
    assert.deepEqual(await ask("object.data.x == 'v'", 'Ignore'), { code: 201, message: undefined, asked: 0 })
    const failed = await ask("object.data.x == 'v'")
    assert.deepEqual([failed.code, failed.asked], [403, 0])
    assert.match(
      failed.message,
      /^configmaps "c" is forbidden: expression 'object.data.x == 'v'' resulted in error: no such key: x$/,
    )
  })
})
