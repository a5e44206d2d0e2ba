import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { acceptCases, pathOf, shownBy } from '../../helpers/accept-cases.ts'
import { lackOfPeer, type Peer, startPeer } from '../../helpers/kubernetes-peer.ts'
import { paths } from '../../helpers/manifests.ts'

describe('the table of Accept headers is what kube-apiserver does', { skip: lackOfPeer() ?? false }, () => {
  let peer: Peer
  before(async () => {
    peer = await startPeer()
    assert.equal((await peer.call('POST', paths.configMaps, { metadata: { name: 'a' } })).code, 201)
  })
  after(() => peer[Symbol.asyncDispose]())

  for (const each of acceptCases)
    test(`${each.of} as ${each.accept || 'nothing'}`, async () => {
      assert.deepEqual(shownBy(each, await peer.read(pathOf(each), each.accept)), each.answer)
    })

  test('items of built-in kinds have no kind in lists', async () => {
    const list = JSON.parse((await peer.read(paths.configMaps, 'application/json')).bytes.toString())
    assert.deepEqual([list.items[0].kind, list.items[0].apiVersion], [undefined, undefined])
  })
})
