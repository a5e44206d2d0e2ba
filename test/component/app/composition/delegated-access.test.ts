import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import type { RequestListener } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { agentAccess, componentAccess } from '../../../../src/app/composition/delegated-access.ts'
import { ApiClient, ApiError } from '../../../../src/client/index.ts'
import { createMetrics, silentLogger } from '../../../../src/observe/index.ts'
import {
  type AccessDelegate,
  createAgentEndpoints,
  createComponentEndpoints,
  type Listener,
  unixListener,
} from '../../../../src/serve/index.ts'
import { startTestServer, type TestServer } from '../../../helpers/api-server.ts'
import { httpGet } from '../../../helpers/http-get.ts'

const rbac = '/apis/rbac.authorization.k8s.io/v1'
const accounts = '/api/v1/namespaces/default/serviceaccounts'

/** What each service account may, as Prometheus' roles have it. */
const rules: Readonly<Record<string, readonly object[]>> = {
  prometheus: [
    { apiGroups: [''], resources: ['nodes/metrics'], verbs: ['get'] },
    { nonResourceURLs: ['/metrics'], verbs: ['get'] },
  ],
  inspector: [{ apiGroups: [''], resources: ['nodes/configz'], verbs: ['get'] }],
  legacy: [{ apiGroups: [''], resources: ['nodes/proxy'], verbs: ['get'] }],
  elsewhere: [{ apiGroups: [''], resources: ['nodes/metrics'], verbs: ['get'], resourceNames: ['node-2'] }],
  lister: [{ apiGroups: [''], resources: ['nodes', 'nodes/status'], verbs: ['*'] }],
}

describe('metrics and configuration for identities of the cluster', () => {
  let server: TestServer
  let folder: string
  const listeners: Listener[] = []
  const tokens = new Map<string, string>()
  const troubles: unknown[] = []

  before(async () => {
    server = await startTestServer({ tokens: [{ token: 'static', user: { name: 'static', groups: [] } }] })
    folder = await mkdtemp(join(tmpdir(), 'platnet-scrape-'))
    for (const [name, ofRole] of Object.entries(rules)) {
      await server.call('POST', accounts, { body: { metadata: { name } } })
      await server.call('POST', `${rbac}/clusterroles`, { body: { metadata: { name }, rules: ofRole } })
      const subjects = [{ kind: 'ServiceAccount', name, namespace: 'default' }]
      const body = { metadata: { name }, roleRef: { kind: 'ClusterRole', name }, subjects }
      assert.equal((await server.call('POST', `${rbac}/clusterrolebindings`, { body })).code, 201)
      tokens.set(name, (await server.call('POST', `${accounts}/${name}/token`, { body: {} })).body.status.token)
    }
    await listen('agent', (access) =>
      createAgentEndpoints({ ...parts, usage: () => '', configz: () => ({ options: {} }), access }),
    )(await delegate('system:node:node-1', 'system:nodes', (client) => agentAccess(client, 'node-1')))
    for (const user of ['system:kube-scheduler', 'system:kube-controller-manager'])
      await listen(user, (access) => createComponentEndpoints({ ...parts, access }))(
        await delegate(user, undefined, componentAccess),
      )
  })
  after(async () => {
    for (const listener of listeners) await listener.stop({ signal: AbortSignal.timeout(0) })
    await server.stop()
    await rm(folder, { recursive: true })
  })

  const parts = { metrics: createMetrics(), components: () => [], log: silentLogger }
  type Access = Parameters<typeof createAgentEndpoints>[0]['access']

  /** A client with the certificate of that part of the cluster, as it has one. */
  async function delegate(
    user: string,
    group: string | undefined,
    create: (client: ApiClient) => AccessDelegate,
  ): Promise<AccessDelegate> {
    const { certPem, keyPem } = await server.authority.issue(user, ...(group === undefined ? [] : [group]))
    return create(
      new ApiClient({
        server: server.url,
        certificateAuthority: server.authority.certPem,
        clientCertificate: certPem,
        clientKey: keyPem,
        skipTlsVerify: false,
      }),
    )
  }

  /** On a unix socket: such a request comes from no address, so that it counts as one from elsewhere. */
  function listen(name: string, create: (access: Access) => RequestListener) {
    return async (asked: AccessDelegate) => {
      const handler = create({
        isPublic: () => false,
        bearerTokens: () => [],
        delegate: asked,
        onTrouble: (error) => troubles.push(error),
      })
      const path = join(folder, `${name.replaceAll(':', '-')}.sock`)
      const listener = unixListener({ name, path, handler, log: silentLogger })
      await listener.start()
      listeners.push(listener)
    }
  }

  const get = async (part: string, path: string, token?: string) => {
    const socketPath = join(folder, `${part.replaceAll(':', '-')}.sock`)
    const headers = token === undefined ? {} : { authorization: `Bearer ${token}` }
    return (await httpGet({ socketPath, path, headers })).status
  }

  test('an agent answers accounts that may read nodes/metrics and nodes/configz of its node', async () => {
    const table = [
      ['prometheus', 200, 403],
      ['inspector', 403, 200],
      ['legacy', 403, 200],
      ['elsewhere', 403, 403],
      ['lister', 403, 403],
    ] as const
    for (const [name, metrics, configz] of table) {
      assert.equal(await get('agent', '/metrics', tokens.get(name)), metrics, name)
      assert.equal(await get('agent', '/configz', tokens.get(name)), configz, name)
    }
    assert.deepEqual(troubles, [])
  })

  test('the controller manager and the scheduler answer accounts that may get the path, by their own certificates', async () => {
    for (const part of ['system:kube-scheduler', 'system:kube-controller-manager']) {
      assert.equal(await get(part, '/metrics', tokens.get('prometheus')), 200, part)
      assert.equal(await get(part, '/metrics', tokens.get('inspector')), 403, part)
      assert.equal(await get(part, '/metrics', 'static'), 403, part)
      assert.equal(await get(part, '/metrics', 'a-token-for-tests'), 200, part)
      for (const token of [undefined, 'wrong', `${tokens.get('prometheus')}x`])
        assert.equal(await get(part, '/metrics', token), 401, part)
      assert.equal(await get(part, '/healthz'), 200, part)
    }
    assert.deepEqual(troubles, [])
  })

  test('a token for another audience is none', async () => {
    const body = { spec: { audiences: ['vault'] } }
    const { token } = (await server.call('POST', `${accounts}/prometheus/token`, { body })).body.status
    assert.equal(await get('agent', '/metrics', token), 401)
  })

  test('of tokens without end only a few are asked about at a time, and each only once', async () => {
    const access = await delegate('system:kube-scheduler', undefined, componentAccess)
    const burst = await Promise.allSettled(Array.from({ length: 100 }, (_, index) => access.identify(`guess-${index}`)))
    const refused = burst.filter(({ status }) => status === 'rejected')
    assert.equal(refused.length, 92)
    const before = await reviewsAsked()
    const token = tokens.get('prometheus') ?? ''
    const same = await Promise.all(Array.from({ length: 100 }, () => access.identify(token)))
    assert.ok(same.every((identity) => identity?.name === 'system:serviceaccount:default:prometheus'))
    assert.equal((await reviewsAsked()) - before, 1)
  })

  const reviewsAsked = async () => {
    const { text } = await server.call('GET', '/metrics')
    const counts = text.matchAll(/^apiserver_request_total\{[^}]*resource="tokenreviews"[^}]*\} (\d+)$/gm)
    return [...counts].reduce((sum, [, count]) => sum + Number(count), 0)
  }
})

test('while the API server is away there is no answer', async () => {
  const access = componentAccess(new ApiClient({ server: 'https://127.0.0.1:1', skipTlsVerify: true }))
  await assert.rejects(access.identify('some'), ApiError)
  await assert.rejects(access.mayRead({ name: 'x', groups: [] }, 'metrics'), ApiError)
})
