import assert from 'node:assert/strict'
import { X509Certificate } from 'node:crypto'
import { after, before, describe, it } from 'node:test'
import type { StaticToken } from '../../../../src/api/access/authenticate.ts'
import { openMemoryStore } from '../../../../src/api/store/index.ts'
import { silentLogger } from '../../../../src/observe/index.ts'
import { startTestServer, type TestServer } from '../../../helpers/api-server.ts'

const configMaps = '/api/v1/namespaces/kube-system/configmaps'
const trust = `${configMaps}/extension-apiserver-authentication`

function tokenOf(token: string, name: string): StaticToken {
  return { token, user: { name, groups: ['system:authenticated'] } }
}
const tokens = [tokenOf('scheduler', 'system:kube-scheduler'), tokenOf('person', 'a-person')]

function certificates(pem: string): readonly X509Certificate[] {
  return pem
    .split(/(?<=-----END CERTIFICATE-----\n)/)
    .filter(Boolean)
    .map((each) => new X509Certificate(each))
}

describe('how programs of Kubernetes know the clients of their own ports', () => {
  let server: TestServer
  before(async () => {
    server = await startTestServer({ tokens })
  })
  after(() => server.stop())

  it('is a ConfigMap with the CA of client certificates, the CA of front proxies, and their headers as lists', async () => {
    const { data } = (await server.call('GET', trust)).body
    assert.equal(data['client-ca-file'], server.authority.certPem)
    const [frontProxies, ...others] = certificates(data['requestheader-client-ca-file'])
    assert.deepEqual(others, [])
    assert.equal(frontProxies?.ca, true)
    assert.notEqual(frontProxies?.publicKey, new X509Certificate(server.authority.certPem).publicKey)
    const lists = Object.keys(data).filter((key) => !key.endsWith('-file'))
    assert.deepEqual(Object.fromEntries(lists.map((key) => [key, JSON.parse(data[key])])), {
      'requestheader-allowed-names': ['front-proxy-client'],
      'requestheader-extra-headers-prefix': ['X-Remote-Extra-'],
      'requestheader-group-headers': ['X-Remote-Group'],
      'requestheader-uid-headers': ['X-Remote-Uid'],
      'requestheader-username-headers': ['X-Remote-User'],
    })
  })

  it('is read by the scheduler and by no other user, and the scheduler reads no other ConfigMap', async () => {
    const code = async (token: string, path: string) => (await server.call('GET', path, { token })).code
    const one = `${configMaps}?fieldSelector=metadata.name%3Dextension-apiserver-authentication`
    assert.deepEqual(await Promise.all([code('scheduler', trust), code('scheduler', one)]), [200, 200])
    const refused = await Promise.all([code('person', trust), code('scheduler', configMaps), code('person', one)])
    assert.deepEqual(refused, [403, 403, 403])
  })
})

describe('the ConfigMap of trust at a later start', () => {
  it('gains the CA of another server, keeps the CA of front proxies and loses what has expired or is no certificate', async () => {
    const store = openMemoryStore({ log: silentLogger })
    const first = await startTestServer({ store, keepsStore: true })
    const { data } = (await first.call('GET', trust)).body
    const broken = '-----BEGIN CERTIFICATE-----\nbm90aGluZw==\n-----END CERTIFICATE-----\n'
    const body = { data: { 'client-ca-file': `${data['client-ca-file']}${broken}` } }
    const headers = { 'content-type': 'application/merge-patch+json' }
    assert.equal((await first.call('PATCH', trust, { body, headers })).code, 200)
    await first.stop()
    await using second = await startTestServer({ store })
    const found = (await second.call('GET', trust)).body.data
    assert.equal(found['client-ca-file'], `${first.authority.certPem}${second.authority.certPem}`)
    assert.equal(found['requestheader-client-ca-file'], data['requestheader-client-ca-file'])
  })

  it('is written again where it was deleted, and not at all in the platform dialect', async () => {
    const store = openMemoryStore({ log: silentLogger })
    const first = await startTestServer({ store, keepsStore: true })
    assert.equal((await first.call('DELETE', trust)).code, 200)
    await first.stop()
    await using second = await startTestServer({ store })
    assert.equal((await second.call('GET', trust)).body.data['client-ca-file'], second.authority.certPem)
    await using platform = await startTestServer({ dialect: 'platform' })
    assert.equal((await platform.call('GET', trust)).code, 404)
  })
})

describe('the controllers of kube-controller-manager with accounts of their own', () => {
  it('have a role each, which holds no kind of another controller', async () => {
    await using server = await startTestServer()
    const allowed = async (name: string, verb: string, group: string, resource: string) => {
      const spec = {
        user: `system:serviceaccount:kube-system:${name}`,
        resourceAttributes: { verb, group, resource, namespace: 'default' },
      }
      const body = { apiVersion: 'authorization.k8s.io/v1', kind: 'SubjectAccessReview', spec }
      const reply = await server.call('POST', '/apis/authorization.k8s.io/v1/subjectaccessreviews', { body })
      return reply.body.status.allowed === true
    }
    assert.equal(await allowed('deployment-controller', 'create', 'apps', 'replicasets'), true)
    assert.equal(await allowed('deployment-controller', 'create', '', 'pods'), false)
    assert.equal(await allowed('job-controller', 'create', '', 'pods'), true)
    assert.equal(await allowed('endpointslice-controller', 'create', 'discovery.k8s.io', 'endpointslices'), true)
    assert.equal(await allowed('service-account-controller', 'delete', '', 'secrets'), false)
    assert.equal(
      await allowed('clusterrole-aggregation-controller', 'escalate', 'rbac.authorization.k8s.io', 'clusterroles'),
      true,
    )
    assert.equal(await allowed('an-unknown-one', 'list', '', 'pods'), false)
  })
})
