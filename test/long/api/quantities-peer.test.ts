import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { type BesidePeer, lackOfPeer, startBesidePeer } from '../../helpers/kubernetes-peer.ts'
import { quantityCases } from '../../helpers/quantity-cases.ts'
import { quantityPlaces } from '../../helpers/quantity-places.ts'

describe('quantities beside kube-apiserver', { skip: lackOfPeer() ?? false }, () => {
  let both: BesidePeer
  before(async () => {
    both = await startBesidePeer()
    await both.peer.call('POST', '/api/v1/namespaces/default/serviceaccounts', { metadata: { name: 'default' } })
  })
  after(() => both[Symbol.asyncDispose]())

  test('each case has its canonical form there', async () => {
    const { path, body, read } = quantityPlaces.autoscaler
    for (const [written, canonical] of quantityCases) {
      const answer = await both.peer.call('POST', `${path}?dryRun=All`, body(written))
      assert.equal(read(answer.body), canonical, JSON.stringify(answer.body))
    }
  })

  for (const [name, { path, body, read }] of Object.entries(quantityPlaces))
    test(`a quantity of the ${name} is the same in both`, async () => {
      for (const written of ['1.5Gi', '4000000m', '2e3', 2000, '8k']) {
        const theirs = await both.peer.call('POST', `${path}?dryRun=All`, body(written))
        const ours = await both.server.call('POST', `${path}?dryRun=All`, { body: body(written) })
        assert.equal(theirs.code, 201, JSON.stringify(theirs.body))
        assert.deepEqual(read(ours.body), read(theirs.body), ours.text)
      }
    })
})
