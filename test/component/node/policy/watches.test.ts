import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import { ApiClient } from '../../../../src/client/index.ts'
import { createDialect, type DialectName } from '../../../../src/model/dialect.ts'
import { ClusterState } from '../../../../src/node/policy/cluster-state.ts'
import { ListedCollections, PolicyProblems, PolicyWatches } from '../../../../src/node/policy/index.ts'
import { createSharedInformers } from '../../../../src/node/state/index.ts'
import { silentLogger } from '../../../../src/observe/index.ts'
import { startTestServer, type TestServer, testToken } from '../../../helpers/api-server.ts'
import { until } from '../../../helpers/until.ts'

const weak = { token: 'of-the-weak', user: { name: 'weak', groups: [] } }

async function setUp(context: TestContext, { dialect: name = 'kubernetes' as DialectName, token = testToken } = {}) {
  const server = await startTestServer({
    dialect: name,
    tokens: [weak],
  })
  context.after(() => server.stop())
  const dialect = createDialect(name)
  const state = new ClusterState()
  const lists = new ListedCollections()
  const problems = new PolicyProblems()
  const client = new ApiClient({
    server: server.url,
    certificateAuthority: server.authority.certPem,
    skipTlsVerify: false,
    bearer: { kind: 'token', token },
  })
  const timing = { backoffBaseMs: 10, backoffMaxMs: 50 }
  const { namespaces } = createSharedInformers({ client, dialect, log: silentLogger, timing })
  const watches = new PolicyWatches({
    client,
    namespaces,
    dialect,
    nodeName: 'here',
    state,
    lists,
    problems,
    log: silentLogger,
    timing,
    dropAfterMs: 50,
  })
  context.after(() => watches.stop({ signal: AbortSignal.timeout(2_000) }))
  const policies = `/apis/${dialect.groups.networking}/v1/namespaces/default/networkpolicies`
  return { server, state, lists, problems, watches, policies }
}

async function createPod(server: TestServer, name: string, nodeName: string, ip: string): Promise<void> {
  const path = '/api/v1/namespaces/default/pods'
  const spec = { nodeName, containers: [{ name: 'main', image: 'x' }] }
  const created = await server.call('POST', path, { body: { metadata: { name, labels: { app: name } }, spec } })
  assert.equal(created.code, 201, created.text)
  const headers = { 'content-type': 'application/merge-patch+json' }
  const body = { status: { phase: 'Running', podIP: ip, podIPs: [{ ip }] } }
  assert.equal((await server.call('PATCH', `${path}/${name}/status`, { body, headers })).code, 200)
}

const peers = { ingress: [{ from: [{ podSelector: { matchLabels: { app: 'there' } } }] }] }

for (const dialect of ['kubernetes', 'platform'] as const) {
  describe(`the watches of policies, dialect ${dialect}`, () => {
    test('follow pods of other nodes only while a policy of a pod here names pods', async (context) => {
      const { server, state, lists, watches, policies } = await setUp(context, { dialect })
      await createPod(server, 'web', 'here', '10.244.1.10')
      await createPod(server, 'there', 'elsewhere', '10.244.2.10')
      await watches.start()
      await until('the lists are complete', () => lists.isComplete)
      assert.deepEqual(
        Array.from(state.pods(), ({ key }) => key),
        ['default/web'],
      )
      const metadata = { name: 'allow' }
      const spec = { podSelector: { matchLabels: { app: 'web' } }, ...peers }
      assert.equal((await server.call('POST', policies, { body: { metadata, spec } })).code, 201)
      await until('the pod of the other node is known', () => state.pod('default/there') !== undefined)
      assert.equal(state.pod('default/there')?.isLocal, false)
      assert.deepEqual(state.pod('default/there')?.ips, ['10.244.2.10'])
      assert.ok(watches.followed().includes('pods of namespace default'))
      assert.equal((await server.call('DELETE', `${policies}/allow`)).code, 200)
      await until('it is forgotten', () => state.pod('default/there') === undefined)
      assert.equal(state.pod('default/web')?.isLocal, true)
      await until('the watch has ended', () => !watches.followed().includes('pods of namespace default'))
    })

    test('a policy that selects no pod here needs none of other nodes', async (context) => {
      const { server, state, lists, watches, policies } = await setUp(context, { dialect })
      await createPod(server, 'there', 'elsewhere', '10.244.2.10')
      const spec = { podSelector: {}, ...peers }
      await server.call('POST', policies, { body: { metadata: { name: 'allow' }, spec } })
      await watches.start()
      await until('the lists are complete', () => lists.isComplete)
      assert.equal(state.counts.policies, 1)
      assert.equal(state.pod('default/there'), undefined)
      assert.equal(state.namespaceLabels('default') === undefined, false)
    })
  })
}

describe('a server that refuses', () => {
  test('is named with what it refuses, and nothing is complete', async (context) => {
    const { lists, watches } = await setUp(context, { token: weak.token })
    await watches.start()
    await until('all is refused', () => lists.denials().length === 3)
    assert.match(lists.denials().join('\n'), /networkpolicies cannot be read: .*forbidden/i)
    assert.equal(lists.isComplete, false)
    assert.equal(watches.health().level, 'degraded')
  })
})
