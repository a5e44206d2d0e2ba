import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { WireObject } from '../../../../src/client/index.ts'
import { ClusterState } from '../../../../src/node/policy/cluster-state.ts'
import { ListedCollections, PolicyProblems, readNetworkPolicy } from '../../../../src/node/policy/index.ts'
import { ObjectFeed } from '../../../../src/node/policy/object-feed.ts'
import { unreadablePolicy } from '../../../../src/node/policy/read-network-policy.ts'
import { silentLogger } from '../../../../src/observe/index.ts'

const allDenied = { key: 'x/p', namespace: 'x', name: 'p', podSelector: [], ingress: [], egress: [] }
const allowing = { key: 'x/p', namespace: 'x', name: 'p', podSelector: [], ingress: [{}] }

const identity = (resourceVersion: string) => ({ name: 'p', namespace: 'x', uid: 'u', resourceVersion })
const sound = (resourceVersion: string): WireObject => ({
  metadata: identity(resourceVersion),
  spec: { podSelector: {}, ingress: [{}] },
})

function createFeed() {
  const state = new ClusterState()
  const problems = new PolicyProblems()
  const feed = new ObjectFeed({
    name: 'networkpolicies',
    lists: new ListedCollections(),
    read: readNetworkPolicy,
    standIn: unreadablePolicy,
    store: (policies) => state.setPolicies(policies),
    onProblems: (key, found, object) => problems.setUnreadable(key, found, object),
    log: silentLogger,
  })
  return { feed, problems, policy: () => state.policy('x/p') }
}

describe('a policy that the client leaves out', () => {
  test('of a list isolates the pods of its namespace until it can be read, and is a problem', async () => {
    const { feed, problems, policy } = createFeed()
    await feed.onReplace([], '10', [identity('5')])
    assert.deepEqual(policy(), allDenied)
    assert.match(JSON.stringify(problems.list()), /NetworkPolicy x\/p: spec: .*too large/)
    await feed.onReplace([], '11', [identity('6')])
    assert.deepEqual(policy(), allDenied)
    await feed.onReplace([sound('6')], '12', [])
    assert.deepEqual([policy(), problems.list()], [allowing, []])
  })

  test('of a change keeps its last known form, which is a problem; a new one denies, and goes when it is deleted', () => {
    const { feed, problems, policy } = createFeed()
    feed.onEvent('ADDED', sound('5'))
    feed.onLeftOut(identity('6'))
    assert.deepEqual([policy(), problems.list().length], [allowing, 1])
    feed.onEvent('DELETED', { metadata: identity('7') })
    assert.deepEqual([policy(), problems.list()], [undefined, []])
    feed.onLeftOut(identity('8'))
    assert.deepEqual([policy(), problems.list().length], [allDenied, 1])
    feed.onEvent('DELETED', { metadata: identity('9') })
    assert.deepEqual([policy(), problems.list()], [undefined, []])
  })
})
