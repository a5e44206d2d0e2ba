import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { startTestServer, type TestServer } from '../../helpers/api-server.ts'
import { kindCases } from '../../helpers/kinds/kind-cases.ts'
import {
  expectedOf,
  type Fixture,
  messagesOf,
  type Request,
  requestOf,
  usualServiceRange,
  verdictOf,
  writesOf,
} from '../../helpers/kinds/write-case.ts'
import { lackOfPeer, type Peer, startPeer } from '../../helpers/kubernetes-peer.ts'

const skip = lackOfPeer() ?? false

const tables = Map.groupBy(kindCases, ({ serviceRanges = usualServiceRange }) => serviceRanges)

for (const [serviceRanges, kinds] of tables)
  describe(`the table of writes to kinds beside kube-apiserver (Services in ${serviceRanges})`, { skip }, () => {
    let peer: Peer
    let server: TestServer
    before(async () => {
      peer = await startPeer(serviceRanges)
      server = await startTestServer({ serviceCidr: serviceRanges })
      await server.call('POST', '/api/v1/namespaces', { body: { metadata: { name: 'default' } } })
      await makeInBoth({ path: '/api/v1/namespaces/default/serviceaccounts', body: { metadata: { name: 'default' } } })
    })
    after(async () => {
      await server.stop()
      await peer[Symbol.asyncDispose]()
    })

    const makeInBoth = async (fixture: Fixture) => {
      for (const request of writesOf(fixture))
        for (const { code, body } of Object.values(await askBoth(request))) assert.ok(code < 300, JSON.stringify(body))
    }
    const askBoth = async ({ method, path, body, contentType }: Request) => {
      const theirs = await peer.call(method, path, body, contentType)
      return { theirs, ours: await server.call(method, path, { body, headers: { 'content-type': contentType } }) }
    }

    for (const { title, fixtures, cases } of kinds)
      describe(title, () => {
        before(async () => {
          for (const fixture of fixtures) await makeInBoth(fixture)
        })

        for (const each of cases)
          test(`${each.method} ${each.title}${each.differs === undefined ? '' : ` (differs: ${each.differs})`}`, async () => {
            const { theirs, ours } = await askBoth(requestOf(each))
            const answer = JSON.stringify(theirs.body)
            if (each.differs !== undefined) return assert.notDeepEqual(verdictOf(theirs), expectedOf(each), answer)
            assert.deepEqual(verdictOf(theirs), expectedOf(each), answer)
            if (each.words === undefined) assert.deepEqual(messagesOf(ours), messagesOf(theirs))
          })
      })
  })
