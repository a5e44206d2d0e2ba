import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Ip } from '../../../../src/model/ip.ts'
import type { PolicyChanges } from '../../../../src/model/network-policy.ts'
import { ClusterState, type PodRecord } from '../../../../src/node/policy/cluster-state.ts'

const [first, second] = ['10.244.1.5', '10.244.1.6'] as Ip[]

function record(name: string, ips: readonly (Ip | undefined)[], extra: Partial<PodRecord> = {}): PodRecord {
  return {
    key: `shop/${name}`,
    uid: `uid-${name}`,
    namespace: 'shop',
    labels: { app: name },
    ips: ips.filter((ip) => ip !== undefined),
    ports: [],
    isLocal: true,
    isOutside: false,
    isTerminating: false,
    createdAtMs: 0,
    ...extra,
  }
}

function createState() {
  const state = new ClusterState()
  const changes: PolicyChanges[] = []
  state.subscribe((change) => changes.push(change))
  const put = (...records: PodRecord[]) => state.setPods(new Map(records.map((each) => [each.key, each])))
  const changedPods = () => [...(changes.at(-1)?.pods.keys() ?? [])].sort()
  return { state, changes, put, changedPods }
}

describe('the pods of the state of policies', () => {
  test('a pod that is announced before its object is known is unknown, and known with the labels of its object later', () => {
    const { state, put } = createState()
    state.setAnnounced('shop/web', { key: 'shop/web', uid: 'uid-web', ips: [first as Ip] })
    assert.deepEqual(state.podAt(first as Ip), {
      key: 'shop/web',
      namespace: 'shop',
      labels: {},
      ips: [first],
      isLocal: true,
      ports: [],
      isUnknown: true,
    })
    put(record('web', []))
    assert.equal(state.pod('shop/web')?.isUnknown, undefined)
    assert.deepEqual(state.pod('shop/web')?.labels, { app: 'web' })
    assert.deepEqual(state.pod('shop/web')?.ips, [first])
  })

  test('the object of an earlier life says nothing of the announced one', () => {
    const { state, put } = createState()
    put(record('web', [first]))
    state.setAnnounced('shop/web', { key: 'shop/web', uid: 'uid-next', ips: [second as Ip] })
    assert.equal(state.pod('shop/web')?.isUnknown, true)
    assert.deepEqual(state.pod('shop/web')?.ips, [second])
    assert.equal(state.podAt(first as Ip), undefined)
    put(record('web', [], { uid: 'uid-next' }))
    assert.equal(state.pod('shop/web')?.isUnknown, undefined)
  })

  test('an address belongs to the pod that was announced with it last, and the earlier one loses it', () => {
    const { state, put, changedPods } = createState()
    put(record('old', [first]), record('new', []))
    state.setAnnounced('shop/new', { key: 'shop/new', uid: '', ips: [first as Ip] })
    assert.deepEqual(changedPods(), ['shop/new', 'shop/old'])
    assert.equal(state.podAt(first as Ip)?.key, 'shop/new')
    assert.deepEqual(state.pod('shop/old')?.ips, [])
    state.setAnnounced('shop/old', { key: 'shop/old', uid: '', ips: [first as Ip] })
    assert.equal(state.podAt(first as Ip)?.key, 'shop/old')
    state.setAnnounced('shop/old', undefined)
    assert.equal(state.podAt(first as Ip)?.key, 'shop/new')
  })

  test('without announcements an address belongs to the pod that is not terminating, then to the younger one', () => {
    const { state, put } = createState()
    put(record('a', [first], { createdAtMs: 1 }), record('b', [first], { createdAtMs: 2 }))
    assert.equal(state.podAt(first as Ip)?.key, 'shop/b')
    put(record('b', [first], { createdAtMs: 2, isTerminating: true }))
    assert.equal(state.podAt(first as Ip)?.key, 'shop/a')
    put(record('a', [first], { createdAtMs: 1, isTerminating: true }))
    assert.equal(state.podAt(first as Ip)?.key, 'shop/b')
  })

  test('a terminating pod keeps its address, a finished one and one of the host network have none', () => {
    const { state, put } = createState()
    put(record('web', [first], { isTerminating: true }))
    assert.deepEqual(state.pod('shop/web')?.ips, [first])
    put(record('web', [first], { isOutside: true }))
    assert.equal(state.pod('shop/web'), undefined)
    assert.equal(state.podAt(first as Ip), undefined)
  })

  test('a finished pod frees its address for another that names it', () => {
    const { state, put } = createState()
    put(record('old', [first], { createdAtMs: 5 }), record('new', [first], { createdAtMs: 1 }))
    assert.equal(state.podAt(first as Ip)?.key, 'shop/old')
    put(record('old', [first], { createdAtMs: 5, isOutside: true }))
    assert.equal(state.podAt(first as Ip)?.key, 'shop/new')
  })

  test('an equal object changes nothing, a label or an address that differs is one change', () => {
    const { state, put, changes } = createState()
    put(record('web', [first]))
    put(record('web', [first]))
    assert.equal(changes.length, 1)
    put(record('web', [first], { labels: { app: 'other' } }))
    put(record('web', [second], { labels: { app: 'other' } }))
    assert.equal(changes.length, 3)
    assert.equal(state.revision, 3)
  })

  test('equal labels of many pods are kept once, also after one of the pods has gone', () => {
    const { state, put } = createState()
    put(record('a', [], { labels: { app: 'x' } }), record('b', [], { labels: { app: 'x' } }))
    assert.equal(state.pod('shop/a')?.labels, state.pod('shop/b')?.labels)
    state.setPods(new Map([['shop/a', undefined]]))
    put(record('c', [], { labels: { app: 'x' } }))
    assert.equal(state.pod('shop/c')?.labels, state.pod('shop/b')?.labels)
  })

  test('a pod whose object goes while its network stays announced is unknown', () => {
    const { state, put } = createState()
    put(record('web', []))
    state.setAnnounced('shop/web', { key: 'shop/web', uid: 'uid-web', ips: [first as Ip] })
    state.setPods(new Map([['shop/web', undefined]]))
    assert.equal(state.pod('shop/web')?.isUnknown, true)
    state.setAnnounced('shop/web', undefined)
    assert.equal(state.pod('shop/web'), undefined)
  })

  test('only pods of this node are listed as such', () => {
    const { state, put } = createState()
    put(record('here', [first]), record('there', [second], { isLocal: false }))
    assert.deepEqual(
      Array.from(state.localPods(), ({ key }) => key),
      ['shop/here'],
    )
  })
})

describe('the policies and namespaces of the state', () => {
  test('are handed on when they differ, and counted', () => {
    const { state, changes } = createState()
    const policy = { key: 'shop/p', namespace: 'shop', name: 'p', podSelector: [] }
    state.setPolicies(new Map([['shop/p', policy]]))
    state.setPolicies(new Map([['shop/p', { ...policy }]]))
    state.setNamespaces(new Map([['shop', { team: 'a' }]]))
    assert.equal(changes.length, 2)
    assert.deepEqual(state.counts, { policies: 1, pods: 0, namespaces: 1 })
    state.setPolicies(new Map([['shop/p', undefined]]))
    assert.deepEqual([...(changes.at(-1)?.policies ?? [])], [['shop/p', undefined]])
  })

  test('everything is the change that leads to the state from nothing', () => {
    const { state, put } = createState()
    put(record('web', [first]))
    state.setNamespaces(new Map([['shop', {}]]))
    const { policies, pods, namespaces } = state.everything()
    assert.deepEqual([policies.size, pods.size, namespaces.size], [0, 1, 1])
  })
})
