import assert from 'node:assert/strict'
import { once } from 'node:events'
import { describe, test } from 'node:test'
import { connect } from 'node:tls'
import { httpGet } from '../../../helpers/http-get.ts'
import { startBackend } from '../../../helpers/in-process-ingress.ts'
import { startPlaneLab } from '../../../helpers/ingress-plane.ts'
import { makeTlsCertificate } from '../../../helpers/tls-certificates.ts'
import { until, untilAsync } from '../../../helpers/until.ts'

const toWeb = { service: { name: 'web', port: { name: 'http' } } }
const everyPath = (backend: object) => ({ http: { paths: [{ path: '/', pathType: 'Prefix', backend }] } })
const shop = { rules: [{ host: 'shop.example.com', ...everyPath(toWeb) }] }

/** The common name of the certificate that is served for a name. */
async function servedName(port: number, servername: string): Promise<string> {
  const socket = connect({ host: '127.0.0.1', port, servername, rejectUnauthorized: false })
  await once(socket, 'secureConnect')
  const name = socket.getPeerCertificate().subject?.CN
  socket.destroy()
  return String(name)
}

for (const dialect of ['platform', 'kubernetes'] as const) {
  test(`dialect ${dialect}: an Ingress is served, follows its endpoints, and gets its status until its class goes`, async (context) => {
    const { api, lab, applied } = await startPlaneLab(context, { dialect })
    await using one = await startBackend((_, response) => response.end('one'))
    await using two = await startBackend((_, response) => response.end('two'))
    const get = () => httpGet({ host: '127.0.0.1', port: lab.httpPort, headers: { host: 'shop.example.com' } })
    await api.createNode('node-a', '203.0.113.7')
    await api.createNode('node-b', '203.0.113.8')
    await api.createClass()
    await api.createIngress('shop', shop)
    await until('the port is open', () => lab.httpPort > 0)
    await untilAsync('the Ingress is served without a Service', async () => (await get()).status === 503)
    await api.createService('web')
    await api.putEndpoint('web', one.port)
    await untilAsync('the endpoint answers', async () => (await get()).body === 'one')
    const version = await api.putEndpoint('web', two.port, false)
    await applied.waitUntilApplied('endpointslices', version, { signal: AbortSignal.timeout(5_000) })
    assert.equal((await get()).body, 'two')
    const addresses = async () => (await api.status('shop')).map(({ ip }) => ip)
    await untilAsync('the status has both nodes', async () => (await addresses()).join() === '203.0.113.7,203.0.113.8')
    await api.removeClass()
    await untilAsync('the status is empty again', async () => (await addresses()).length === 0)
    assert.equal((await get()).status, 404)
  })
}

describe('The plane of Ingress', () => {
  test('opens its ports when a class names its controller, and answers 404 there without an Ingress', async (context) => {
    const { api, lab, plane } = await startPlaneLab(context)
    await until('the lists are read', () => plane.health().level === 'ok')
    assert.match(plane.health().message, /no IngressClass names this controller/)
    assert.equal(lab.httpPort, 0)
    await api.createClass('theirs', 'example.com/other')
    await api.createClass()
    await until('the port is open', () => lab.httpPort > 0)
    assert.equal((await httpGet({ host: '127.0.0.1', port: lab.httpPort })).status, 404)
    await api.removeClass()
    await until('the class is gone', () => plane.health().message.startsWith('0 hosts'))
    assert.equal((await httpGet({ host: '127.0.0.1', port: lab.httpPort })).status, 404)
  })

  test('serves the certificate of a Secret by name, and the next one without a restart', async (context) => {
    const { api, lab, reported } = await startPlaneLab(context)
    await api.createClass()
    const named = (commonName: string) => makeTlsCertificate({ commonName, names: ['shop.example.com'] })
    const [first, second] = await Promise.all([named('first'), named('second')])
    await api.createSecret('shop-tls', first.certPem, first.keyPem)
    await api.createIngress('shop', { ...shop, tls: [{ hosts: ['shop.example.com'], secretName: 'shop-tls' }] })
    const served = () => servedName(lab.httpsPort, 'shop.example.com').catch(() => 'none')
    await untilAsync('the certificate is served', async () => (await served()) === 'first')
    await api.replaceSecret('shop-tls', second.certPem, second.keyPem)
    await untilAsync('the next one is served', async () => (await served()) === 'second')
    await api.replaceSecret('shop-tls', second.certPem, first.keyPem)
    await untilAsync('the broken one is skipped', async () => (await served()) === 'none')
    await until('it is reported', () => reported.some((line) => /^default\/shop CertificateUnusable/.test(line)))
    assert.doesNotMatch(reported.join(), /BEGIN/)
  })

  test('reports a problem of an Ingress once, as an Event', async (context) => {
    const { api, reported, plane } = await startPlaneLab(context)
    await api.createClass()
    await api.createService('web')
    await api.createIngress('elder', shop)
    await until('the first is served', () => plane.status().hosts === 1)
    await api.createIngress('younger', shop)
    await until('the conflict is found', () => plane.status().problems.some(({ reason }) => reason === 'RouteConflict'))
    await api.putEndpoint('web', 1)
    await untilAsync('the Event is written', async () =>
      (await api.events()).some(
        ({ reason, involvedObject }) => reason === 'RouteConflict' && involvedObject.name !== '',
      ),
    )
    assert.equal(reported.filter((line) => line.includes('RouteConflict')).length, 1)
    assert.equal(plane.health().level, 'degraded')
    assert.match(plane.health().message, /not served as written: default\//)
  })

  test('leaves Ingresses of other classes alone, also their status', async (context) => {
    const { api, plane } = await startPlaneLab(context)
    await api.createNode('node-a', '203.0.113.7')
    await api.createClass()
    await api.createClass('theirs', 'example.com/other')
    await api.createIngress('foreign', shop, 'theirs')
    await api.createIngress('own', { rules: [{ host: 'own.example.com', ...everyPath(toWeb) }] })
    await untilAsync('ours has a status', async () => (await api.status('own')).length === 1)
    assert.deepEqual(await api.status('foreign'), [])
    assert.deepEqual(plane.status().ingresses, { ours: 1, foreign: 1 })
    assert.equal(plane.status().hosts, 1)
  })

  test('writes the status as a later node only when no earlier one does', async (context) => {
    const { api } = await startPlaneLab(context, { nodeName: 'node-b' })
    await api.createNode('node-a', '203.0.113.7')
    await api.createNode('node-b', '203.0.113.8')
    await api.createClass()
    const startMs = performance.now()
    await api.createIngress('shop', shop)
    await untilAsync('the second node has written', async () => (await api.status('shop')).length === 2)
    assert.ok(performance.now() - startMs >= 250, 'it did not wait for the first node')
  })

  test('says what the server refuses, and nothing waits for it', async (context) => {
    const { plane } = await startPlaneLab(context, { isRefused: true })
    await until('it is refused', () => plane.health().level === 'degraded')
    assert.match(plane.health().message, /Ingresses are not served: .*cannot be read/)
  })
})
