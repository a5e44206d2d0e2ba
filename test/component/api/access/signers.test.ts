import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { startTestServer, type TestServer } from '../../../helpers/api-server.ts'
import { makeCertificateRequest } from '../../../helpers/certificates.ts'

const path = '/apis/certificates.k8s.io/v1/certificatesigningrequests'
const rbac = '/apis/rbac.authorization.k8s.io/v1'
const group = 'certificates.k8s.io'
const headers = { 'content-type': 'application/merge-patch+json' }
const requestOf = (subject: string) => Buffer.from(makeCertificateRequest(subject).request).toString('base64')
const decision = { status: { conditions: [{ type: 'Approved', status: 'True', reason: 'Test' }] } }
const failure = { status: { conditions: [{ type: 'Failed', status: 'True', reason: 'Test' }] } }

describe('who may decide about certificate requests', () => {
  let server: TestServer
  let count = 0
  const users = new Map<string, { readonly cert: string; readonly key: string }>()
  before(async () => {
    server = await startTestServer()
    await grant('writer', [])
    await grant('approver', [{ verbs: ['approve'], resourceNames: ['example.com/one'] }])
    await grant('domain', [{ verbs: ['approve'], resourceNames: ['example.com/*'] }])
    await grant('signer', [{ verbs: ['sign'], resourceNames: ['example.com/one'] }])
  })
  after(() => server.stop())

  /** A user who may write all requests, and more for some signers. */
  const grant = async (name: string, rules: readonly object[], groups: readonly string[] = []) => {
    const { certPem, keyPem } = await server.authority.issue(name, ...groups)
    users.set(name, { cert: certPem, key: keyPem })
    const all = {
      apiGroups: [group],
      resources: ['', '/approval', '/status'].map((part) => `certificatesigningrequests${part}`),
    }
    const signers = rules.map((rule) => ({ apiGroups: [group], resources: ['signers'], ...rule }))
    const role = { metadata: { name }, rules: [{ ...all, verbs: ['*'] }, ...signers] }
    assert.equal((await server.call('POST', `${rbac}/clusterroles`, { body: role })).code, 201)
    const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name }
    const body = { metadata: { name }, roleRef, subjects: [{ kind: 'User', name }] }
    assert.equal((await server.call('POST', `${rbac}/clusterrolebindings`, { body })).code, 201)
  }
  const as = (user: string, method: string, at: string, body?: object) =>
    server.call(method, at, {
      token: null,
      tls: users.get(user) ?? assert.fail(user),
      ...(body && { body }),
      ...(method === 'PATCH' && { headers }),
    })
  const ask = async (signerName = 'example.com/one', user = 'writer', subject = '/CN=x') => {
    const name = `r${++count}`
    const spec = { request: requestOf(subject), usages: ['client auth'], signerName, username: 'root', groups: ['a'] }
    return { name, reply: await as(user, 'POST', path, { metadata: { name }, spec }) }
  }

  test('a request has the identity of its writer, whatever it says itself', async () => {
    const { reply } = await ask()
    assert.equal(reply.code, 201, reply.text)
    const { username, groups } = reply.body.spec
    assert.deepEqual([username, groups], ['writer', ['system:authenticated']])
  })

  const rows: readonly (readonly [string, 'approval' | 'status', object, string, number])[] = [
    ['writer', 'approval', decision, 'example.com/one', 403],
    ['approver', 'approval', decision, 'example.com/one', 200],
    ['approver', 'approval', decision, 'example.com/two', 403],
    ['approver', 'status', failure, 'example.com/one', 403],
    ['domain', 'approval', decision, 'example.com/two', 200],
    ['domain', 'approval', decision, 'example.net/two', 403],
    ['signer', 'approval', decision, 'example.com/one', 403],
    ['signer', 'status', failure, 'example.com/one', 200],
    ['signer', 'status', failure, 'example.com/two', 403],
    ['writer', 'status', { metadata: { labels: { a: 'b' } } }, 'example.com/one', 200],
  ]
  for (const [user, subresource, body, signer, code] of rows)
    test(`${user} gets a ${code} for ${Object.keys(body)} by /${subresource} of a request to ${signer}`, async () => {
      const { name } = await ask(signer)
      const reply = await as(user, 'PATCH', `${path}/${name}/${subresource}`, body)
      assert.equal(reply.code, code, reply.text)
      if (code !== 403) return
      const verb = subresource === 'approval' ? 'approve' : 'sign'
      assert.match(reply.body.message, new RegExp(`user not permitted to ${verb} requests with signerName "${signer}"`))
    })

  test('a superuser may not be asked for of the signer of clients, in whatever place of the subject', async () => {
    for (const subject of ['/O=system:masters/CN=x', '/O=a+O=system:masters/CN=x']) {
      const { reply } = await ask('kubernetes.io/kube-apiserver-client', 'writer', subject)
      assert.equal(reply.code, 403, reply.text)
      assert.match(reply.body.message, /kube-apiserver-client signer with system:masters group is not allowed/)
    }
  })

  test('a node asks for certificates of its own name only, where they are for nodes', async () => {
    await grant('system:node:a', [], ['system:nodes'])
    const of = (name: string) => `/O=system:nodes/CN=system:node:${name}`
    for (const signer of ['kubernetes.io/kube-apiserver-client-kubelet', 'kubernetes.io/kubelet-serving']) {
      assert.equal((await ask(signer, 'system:node:a', of('a'))).reply.code, 201)
      const { reply } = await ask(signer, 'system:node:a', of('b'))
      assert.equal(reply.code, 403)
      assert.match(reply.body.message, /can only create a node CSR with CN=system:node:a/)
    }
    assert.equal((await ask('example.com/one', 'system:node:a', of('b'))).reply.code, 201)
  })
})
