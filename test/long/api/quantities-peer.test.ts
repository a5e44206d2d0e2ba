import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { startTestServer, type TestServer } from '../../helpers/api-server.ts'
import { lackOfPeer, type Peer, startPeer } from '../../helpers/kubernetes-peer.ts'
import { quantityCases } from '../../helpers/quantity-cases.ts'
import { quantityPlaces } from '../../helpers/quantity-places.ts'

describe('quantities beside kube-apiserver', { skip: lackOfPeer() ?? false }, () => {
  let peer: Peer
  let server: TestServer
  before(async () => {
    peer = await startPeer()
    server = await startTestServer()
    await server.call('POST', '/api/v1/namespaces', { body: { metadata: { name: 'default' } } })
    await peer.call('POST', '/api/v1/namespaces/default/serviceaccounts', { metadata: { name: 'default' } })
  })
  after(async () => {
    await server.stop()
    await peer[Symbol.asyncDispose]()
  })

  test('each case has its canonical form there', async () => {
    const { path, body, read } = quantityPlaces.autoscaler
    for (const [written, canonical] of quantityCases) {
      const answer = await peer.call('POST', `${path}?dryRun=All`, body(written))
      assert.equal(read(answer.body), canonical, JSON.stringify(answer.body))
    }
  })

  for (const [name, { path, body, read }] of Object.entries(quantityPlaces))
    test(`a quantity of the ${name} is the same in both`, async () => {
      for (const written of ['1.5Gi', '4000000m', '2e3', 2000, '8k']) {
        const theirs = await peer.call('POST', `${path}?dryRun=All`, body(written))
        const ours = await server.call('POST', `${path}?dryRun=All`, { body: body(written) })
        assert.equal(theirs.code, 201, JSON.stringify(theirs.body))
        assert.deepEqual(read(ours.body), read(theirs.body), ours.text)
      }
    })
})
