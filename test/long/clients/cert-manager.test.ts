import assert from 'node:assert/strict'
import { X509Certificate } from 'node:crypto'
import { cpSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { runProgram } from '../../../src/host/index.ts'
import { findFreePort } from '../../helpers/free-port.ts'
import { untilAsync } from '../../helpers/until.ts'
import {
  accountKubeconfig,
  ClientProgram,
  type ClientsServer,
  kubectl,
  missingPrograms,
  programFile,
  sourceFile,
  startServer,
} from './programs.ts'

const deadlineMs = 60_000
const group = '/apis/cert-manager.io/v1'
const inDefault = `${group}/namespaces/default`
const crds = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions'

/** The parts of cert-manager's chart that its controllers need. */
const parts = ['rbac', 'serviceaccount', 'cainjector-rbac', 'cainjector-serviceaccount']

function issuer(kind: string, name: string, spec: object): object {
  return { apiVersion: 'cert-manager.io/v1', kind, metadata: { name }, spec }
}

function certificate(name: string, spec: object): object {
  const names = { secretName: `${name}-tls`, commonName: name, dnsNames: [`${name}.example.com`] }
  return { apiVersion: 'cert-manager.io/v1', kind: 'Certificate', metadata: { name }, spec: { ...names, ...spec } }
}

describe("cert-manager's controllers, with the roles of its chart", {
  skip: missingPrograms('cert-manager', 'helm'),
}, () => {
  const stack = new AsyncDisposableStack()
  let server: ClientsServer
  let first: ClientProgram
  let second: ClientProgram
  let injector: ClientProgram

  const call = (method: string, path: string, body?: unknown) => server.admin.call(method, path, body)
  const create = async (path: string, body: object) => assert.equal((await call('POST', path, body)).code, 201, path)
  const secretOf = async (name: string) => (await call('GET', `/api/v1/namespaces/default/secrets/${name}-tls`)).body
  const issued = async (name: string) =>
    new X509Certificate(Buffer.from((await secretOf(name)).data['tls.crt'], 'base64'))
  const statusOf = async (name: string) => (await call('GET', `${inDefault}/certificates/${name}`)).body.status ?? {}
  const revisionIs = (name: string, least: number) => async () => {
    const { revision = 0, conditions = [] } = await statusOf(name)
    const isReady = conditions.some(
      (each: { type: string; status: string }) => each.type === 'Ready' && each.status === 'True',
    )
    return revision >= least && isReady
  }
  const untilIssued = (name: string, least = 1) =>
    untilAsync(`${name} has revision ${least}`, revisionIs(name, least), deadlineMs)

  async function renderParts(): Promise<string> {
    const copy = join(server.folder, 'chart')
    const chart = sourceFile('cert-manager', 'deploy/charts/cert-manager')
    cpSync(chart, copy, { recursive: true })
    const head = readFileSync(join(chart, 'Chart.template.yaml'), 'utf8').replaceAll(/\{\{.*?\}\}/g, '1')
    writeFileSync(join(copy, 'Chart.yaml'), `${head}\nversion: 1.19.1\nappVersion: v1.19.1\n`)
    const shown = parts.flatMap((part) => ['--show-only', `templates/${part}.yaml`])
    // A helm of build.sh has no Kubernetes of its own: Helm's release build sets its version.
    const set = ['--kube-version', '1.34', '--set', 'global.leaderElection.namespace=cert-manager']
    const args = ['template', 'cert-manager', copy, '--namespace', 'cert-manager', ...set, ...shown]
    const env = { HOME: server.folder, PATH: process.env['PATH'] ?? '' }
    return (await runProgram(programFile('helm') ?? '', args, { timeoutMs: 60_000, env })).stdout
  }

  before(async () => {
    server = stack.use(await startServer('api,controllers', [`--controller-manager-port=${await findFreePort()}`]))
    await create('/api/v1/namespaces', { metadata: { name: 'cert-manager' } })
    await kubectl(server, ['apply', '--server-side', '-f', sourceFile('cert-manager', 'deploy/crds')])
    await kubectl(server, ['apply', '-f', '-'], await renderParts())
    const account = async (name: string) => ({ KUBECONFIG: await accountKubeconfig(server, 'cert-manager', name) })
    first = stack.use(new ClientProgram('cert-manager', ['controller'], server, await account('cert-manager')))
    injector = stack.use(
      new ClientProgram('cert-manager', ['cainjector'], server, await account('cert-manager-cainjector')),
    )
    await create(`${inDefault}/issuers`, issuer('Issuer', 'self', { selfSigned: {} }))
  })
  after(() => stack.disposeAsync())

  test('their definitions are applied on the server, by the client, and once more without a change', async () => {
    const folder = sourceFile('cert-manager', 'deploy/crds')
    const revision = async () =>
      (await call('GET', `${crds}/certificates.cert-manager.io`)).body.metadata.resourceVersion
    const before = await revision()
    await kubectl(server, ['apply', '--server-side', '-f', folder])
    assert.equal(await revision(), before)
    await kubectl(server, ['delete', '-f', join(folder, 'acme.cert-manager.io_orders.yaml')])
    await kubectl(server, ['apply', '-f', join(folder, 'acme.cert-manager.io_orders.yaml')])
    const again = await kubectl(server, ['apply', '-f', join(folder, 'acme.cert-manager.io_orders.yaml')])
    assert.match(again, /unchanged/)
  })

  test('an issuer that signs itself makes a CA, and the CA signs the certificate of a server', async () => {
    await create(`${inDefault}/certificates`, certificate('root', { isCA: true, issuerRef: { name: 'self' } }))
    await untilIssued('root')
    await create(`${inDefault}/issuers`, issuer('Issuer', 'ca', { ca: { secretName: 'root-tls' } }))
    await create(`${inDefault}/certificates`, certificate('web', { issuerRef: { name: 'ca' } }))
    await untilIssued('web')
    const [root, web] = [await issued('root'), await issued('web')]
    assert.equal(root.ca, true)
    assert.ok(web.verify(root.publicKey))
    assert.equal(web.checkHost('web.example.com'), 'web.example.com')
    assert.equal((await secretOf('web')).type, 'kubernetes.io/tls')
  })

  test('a certificate whose Secret is deleted, and one that is asked for again, is issued anew', async () => {
    const { serialNumber } = await issued('web')
    await call('DELETE', '/api/v1/namespaces/default/secrets/web-tls')
    await untilIssued('web', 2)
    const secondSerial = (await issued('web')).serialNumber
    assert.notEqual(secondSerial, serialNumber)
    const { conditions } = await statusOf('web')
    const lastTransitionTime = new Date().toISOString().replace(/\.\d+Z$/, 'Z')
    const asked = {
      type: 'Issuing',
      status: 'True',
      reason: 'ManuallyTriggered',
      message: 'by a test',
      lastTransitionTime,
    }
    // What `cmctl renew` writes.
    await call('PATCH', `${inDefault}/certificates/web/status`, { status: { conditions: [...conditions, asked] } })
    await untilIssued('web', 3)
    assert.notEqual((await issued('web')).serialNumber, secondSerial)
  })

  test('a certificate is renewed when its time has come', async () => {
    const spec = { duration: '1h', renewBefore: '59m50s', issuerRef: { name: 'ca' } }
    await create(`${inDefault}/certificates`, certificate('short', spec))
    await untilIssued('short', 2)
  })

  test('an issuer of the cluster signs in any namespace', async () => {
    await create(`${group}/clusterissuers`, issuer('ClusterIssuer', 'self', { selfSigned: {} }))
    const issuerRef = { name: 'self', kind: 'ClusterIssuer' }
    await create(`${inDefault}/certificates`, certificate('wide', { issuerRef }))
    await untilIssued('wide')
  })

  test('cainjector leads and watches definitions, of which none may have a webhook here that it could give a CA', async () => {
    const lease = '/apis/coordination.k8s.io/v1/namespaces/cert-manager/leases/cert-manager-cainjector-leader-election'
    const leads = async () => Boolean((await call('GET', lease)).body.spec?.holderIdentity)
    await untilAsync('it leads', leads, deadlineMs)
    await untilAsync(
      'it works',
      async () => /"Starting workers".*customresourcedefinition/i.test(injector.log),
      deadlineMs,
    )
  })

  test('cainjector gives webhooks the authority of a certificate', async () => {
    const metadata = { name: 'injected', annotations: { 'cert-manager.io/inject-ca-from': 'default/web' } }
    const path = '/apis/admissionregistration.k8s.io/v1'
    const kinds = ['mutatingwebhookconfigurations', 'validatingwebhookconfigurations']
    const rules = [{ operations: ['CREATE'], apiGroups: ['example.com'], apiVersions: ['v1'], resources: ['boats'] }]
    const clientConfig = { service: { namespace: 'default', name: 'hook' } }
    const webhook = { name: 'a.example.com', rules, clientConfig, sideEffects: 'None', admissionReviewVersions: ['v1'] }
    for (const kind of kinds) await create(`${path}/${kind}`, { metadata, webhooks: [webhook] })
    const authority = (await secretOf('web')).data['ca.crt']
    const isInjected = async () => {
      const found = await Promise.all(kinds.map((kind) => call('GET', `${path}/${kind}/injected`)))
      return found.every(({ body }) => body.webhooks[0].clientConfig.caBundle === authority)
    }
    await untilAsync('the webhooks have the authority', isInjected, deadlineMs)
  })

  test('a second process takes over from one that was killed', async () => {
    second = stack.use(
      new ClientProgram('cert-manager', ['controller'], server, {
        KUBECONFIG: await accountKubeconfig(server, 'cert-manager', 'cert-manager'),
      }),
    )
    await first.stop('SIGKILL')
    await create(`${inDefault}/certificates`, certificate('later', { issuerRef: { name: 'ca' } }))
    await untilIssued('later')
  })

  test('none has complained about the server', () => {
    const ordinary = [/the object has been modified/, /re-queuing item/i, /does not exist/, /not found/]
    for (const program of [first, second, injector]) assert.deepEqual(program.complaints(...ordinary), [])
  })
})
