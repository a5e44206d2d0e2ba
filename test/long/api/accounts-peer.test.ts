import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { accountCases, caseAccounts, podOfAccountCase } from '../../helpers/account-cases.ts'
import { type Reply, startTestServer, type TestServer } from '../../helpers/api-server.ts'
import { lackOfPeer, type Peer, startPeer } from '../../helpers/kubernetes-peer.ts'

const skip = lackOfPeer() ?? false
const namespace = '/api/v1/namespaces/default'

describe('the admission of Pods with ServiceAccounts beside kube-apiserver', { skip }, () => {
  let peer: Peer
  let ours: TestServer
  before(async () => {
    ours = await startTestServer({ dialect: 'kubernetes', admitsAccounts: true })
    peer = await startPeer()
    for (const account of caseAccounts) {
      await peer.call('POST', `${namespace}/serviceaccounts`, account)
      await ours.call('POST', `${namespace}/serviceaccounts`, { body: account })
    }
  })
  after(async () => {
    await ours.stop()
    await peer[Symbol.asyncDispose]()
  })

  for (const each of accountCases)
    for (const query of ['', '&fieldManager=someone'])
      test(`a Pod: ${each.title}${query && ', written by a user'}`, async () => {
        const path = `${namespace}/pods?dryRun=All${query}`
        const body = podOfAccountCase(each)
        const theirs = await peer.call('POST', path, body)
        assert.deepEqual(whatCounts(await ours.call('POST', path, { body })), whatCounts(theirs))
        assert.equal(theirs.code, each.refusal === undefined ? 201 : 403)
      })

  test('a Pod that an apply makes', async () => {
    const path = `${namespace}/pods/web?dryRun=All&fieldManager=someone`
    const body = podOfAccountCase({ title: '', spec: { containers: [{ name: 'main', image: 'web:1' }] } })
    const contentType = 'application/apply-patch+yaml'
    const theirs = await peer.call('PATCH', path, body, contentType)
    const own = await ours.call('PATCH', path, { body, headers: { 'content-type': contentType } })
    assert.equal(theirs.code, 201)
    assert.deepEqual(whatCounts(own), whatCounts(theirs))
  })

  test('a Pod in a namespace that is not there, with an account that is not there', async () => {
    const path = '/api/v1/namespaces/missing/pods?dryRun=All'
    const body = podOfAccountCase({ title: '', spec: { containers: [{ name: 'main', image: 'web:1' }] } })
    const theirs = await peer.call('POST', path, body)
    assert.equal(theirs.code, 404)
    assert.deepEqual(whatCounts(await ours.call('POST', path, { body })), whatCounts(theirs))
  })
})

/** The answer without what other plugins decide, and without what is made up. */
function whatCounts({ code, body }: Pick<Reply, 'code' | 'body'>) {
  if (code !== 201) return { code, message: body.message, reason: body.reason, details: body.details }
  const { serviceAccountName, serviceAccount, imagePullSecrets, volumes, containers, initContainers } = body.spec
  const mountsOf = (list: readonly { name: string; volumeMounts?: unknown }[] = []) =>
    list.map(({ name, volumeMounts }) => [name, volumeMounts])
  const owned = (body.metadata.managedFields ?? []).map(({ manager, operation, fieldsV1 }: Record<string, unknown>) => [
    manager,
    operation,
    fieldsV1,
  ])
  const counted = {
    accounts: [serviceAccountName, serviceAccount],
    imagePullSecrets,
    volumes,
    mounts: [...mountsOf(initContainers), ...mountsOf(containers)],
    owned,
  }
  // Only Kubernetes tracks owners of `spec` and of the list of containers apart from the owners of their content.
  const text = JSON.stringify(counted, (key, value) => (key === '.' ? undefined : value))
  return JSON.parse(text.replaceAll(/kube-api-access-[a-z0-9]{5}/g, 'kube-api-access-XXXXX'))
}
