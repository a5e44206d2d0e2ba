import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { ApiClient } from '../../../../src/client/index.ts'
import { createDialect } from '../../../../src/model/dialect.ts'
import { createClusterLookup } from '../../../../src/node/policy/index.ts'
import { startTestServer, testToken } from '../../../helpers/api-server.ts'

for (const name of ['kubernetes', 'platform'] as const) {
  describe(`the objects that a question about a flow reads, dialect ${name}`, () => {
    test('are all pods with their kind, node and host ports, and the addresses of all nodes', async (context) => {
      const server = await startTestServer({ dialect: name })
      context.after(() => server.stop())
      const bearer = { kind: 'token', token: testToken } as const
      const certificateAuthority = server.authority.certPem
      const client = new ApiClient({ server: server.url, certificateAuthority, skipTlsVerify: false, bearer })
      context.after(() => client.close())
      const headers = { 'content-type': 'application/merge-patch+json' }

      async function create(path: string, metadata: object, spec: object, status: object): Promise<void> {
        const created = await server.call('POST', path, { body: { metadata, spec } })
        assert.equal(created.code, 201, created.text)
        const at = `${path}/${JSON.parse(created.text).metadata.name}/status`
        assert.equal((await server.call('PATCH', at, { body: { status }, headers })).code, 200)
      }

      const pods = '/api/v1/namespaces/default/pods'
      const container = {
        name: 'main',
        image: 'x',
        ports: [{ containerPort: 80, hostPort: 9000 }, { containerPort: 81 }],
      }
      const running = (ip: string) => ({ phase: 'Running', podIP: ip, podIPs: [{ ip }] })
      await create(pods, { name: 'web' }, { nodeName: 'there', containers: [container] }, running('10.244.1.7'))
      await create(pods, { name: 'done' }, { nodeName: 'here', containers: [container] }, { phase: 'Failed' })
      const addresses = [
        { type: 'Hostname', address: 'there' },
        { type: 'InternalIP', address: '198.51.100.2' },
      ]
      await create('/api/v1/nodes', { name: 'there' }, {}, { addresses })

      const lookup = createClusterLookup(client, createDialect(name), 'here')
      const [done, web] = [...(await lookup.pods())].sort((a, b) => (a.key < b.key ? -1 : 1))
      assert.deepEqual([done?.key, done?.kind, done?.pod], ['default/done', 'finished', undefined])
      assert.deepEqual([web?.key, web?.kind, web?.nodeName, web?.ips], ['default/web', 'pod', 'there', ['10.244.1.7']])
      assert.deepEqual(web?.hostPorts, [{ protocol: 'TCP', hostPort: 9000, containerPort: 80, hostIp: undefined }])
      assert.equal(web?.pod?.isLocal, false)
      assert.deepEqual(
        (await lookup.nodes()).map((node) => [node.name, node.addresses]),
        [['there', ['198.51.100.2']]],
      )
    })
  })
}
