import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import type { ObjectKey } from '../../../../src/model/api-object.ts'
import type { Ip } from '../../../../src/model/ip.ts'
import type { NetworkPolicy, PolicyChanges } from '../../../../src/model/network-policy.ts'
import { emptyXorHash } from '../../../../src/model/xor-hash.ts'
import type { SetChange } from '../../../../src/netfilter/member-sets.ts'
import type { TableChange } from '../../../../src/netfilter/ruleset.ts'
import { ClusterState, type PodRecord } from '../../../../src/node/policy/cluster-state.ts'
import { ListedCollections } from '../../../../src/node/policy/listed-collections.ts'
import { PolicyPlane } from '../../../../src/node/policy/plane.ts'
import type { FamilyPlan, PlannedWrite, PolicyWriter } from '../../../../src/node/policy/plane-parts.ts'
import { PolicyProblems } from '../../../../src/node/policy/problems.ts'
import { StandingRules } from '../../../../src/node/policy/standing-rules.ts'
import { RulesError, type WriteReport } from '../../../../src/node/rules/index.ts'
import { AppliedRevisions, LiveNodeState } from '../../../../src/node/state/index.ts'
import { silentLogger } from '../../../../src/observe/index.ts'
import { until } from '../../../helpers/until.ts'

const address = '10.244.1.5' as Ip
const noSets: SetChange = { create: new Map(), add: new Map(), remove: new Map(), destroy: [] }
const report: WriteReport = {
  kind: 'written',
  bytes: 1,
  durationMs: 1,
  chainsSet: 1,
  chainsRemoved: 0,
  restores: 1,
  rules: { nat: 0, filter: 0, mangle: 1 },
}

/** Plans one chain for each policy: its name, and a rule for each rule of the policy. */
class FakePlan implements FamilyPlan {
  readonly taken: PolicyChanges[] = []
  readonly usersOf = new Map<string, readonly ObjectKey[]>()

  async take(changes: PolicyChanges): Promise<PlannedWrite> {
    this.taken.push(changes)
    const set = new Map(Array.from(changes.policies, ([key, policy]) => [`PLAT-${key}`, rulesOf(policy)]))
    const isPods = changes.pods.size > 0
    const sets: SetChange = isPods ? { ...noSets, add: new Map([['PLAT-NP-I4', [address]]]) } : noSets
    const tables: readonly TableChange[] = set.size > 0 ? [{ table: 'mangle', set, remove: [] }] : []
    return { tables, sets, objects: emptyXorHash, mayLose: set.size > 0 }
  }

  policiesOf(chainOrSet: string): readonly ObjectKey[] {
    return chainOrSet.startsWith('PLAT-') ? [chainOrSet.slice('PLAT-'.length)] : (this.usersOf.get(chainOrSet) ?? [])
  }
}

function rulesOf(policy: NetworkPolicy | undefined) {
  return (policy?.ingress ?? []).map(() => ({ matches: [] }))
}

/** Remembers chains and refuses as the test asks. */
class FakeWriter implements PolicyWriter {
  readonly calls: string[] = []
  readonly chains = new Map<string, number>()
  readonly #unwritten = new Map<string, number>()
  failures = 0
  /** Refuses a chain with more rules. */
  maxRules = 10
  /** Refuses every write while one of these has a rule, and names this set. */
  refusedSet: { readonly set: string; readonly while: readonly string[] } | undefined

  sync(changes: readonly TableChange[]): Promise<WriteReport> {
    return this.#take('sync', changes)
  }

  write(changes: readonly TableChange[]): Promise<WriteReport> {
    return this.#take('write', changes)
  }

  async #take(call: string, changes: readonly TableChange[]): Promise<WriteReport> {
    this.calls.push(call)
    for (const { set } of changes) for (const [chain, rules] of set) this.#unwritten.set(chain, rules.length)
    if (this.failures > 0) {
      this.failures -= 1
      throw new Error('the lock is held by another program')
    }
    const chains = new Map([...this.chains, ...this.#unwritten])
    const { set, while: names = [] } = this.refusedSet ?? {}
    if (set !== undefined && names.some((name) => (chains.get(name) ?? 0) > 0))
      throw new RulesError('set-refused', 'refused', { line: { number: 1, text: '', table: 'ipset', set } })
    const [chain] = [...this.#unwritten].find(([, rules]) => rules > this.maxRules) ?? []
    if (chain !== undefined)
      throw new RulesError('restore-failed', 'refused', { line: { number: 1, text: '', table: 'mangle', chain } })
    for (const [name, rules] of this.#unwritten) this.chains.set(name, rules)
    this.#unwritten.clear()
    return report
  }
}

function policy(name: string, ruleCount = 0): NetworkPolicy {
  const ingress = Array.from({ length: ruleCount }, () => ({}))
  return { key: `shop/${name}`, namespace: 'shop', name, podSelector: [], ingress }
}

function record(name: string): PodRecord {
  const key = `shop/${name}`
  const life = { uid: '', isLocal: true, isOutside: false, isTerminating: false, createdAtMs: 0 }
  return { key, namespace: 'shop', labels: {}, ips: [], ports: [], ...life }
}

async function startPlane(context: TestContext, { obstacles = [] as string[] } = {}) {
  const nodeState = new LiveNodeState(silentLogger)
  const applied = new AppliedRevisions(nodeState)
  applied.register('policy')
  const state = new ClusterState()
  const lists = new ListedCollections()
  const reported: string[] = []
  const problems = new PolicyProblems(({ policy: key, reason }) => reported.push(`${reason} ${key}`))
  const plan = new FakePlan()
  const writer = new FakeWriter()
  const cut: string[] = []
  const cutter = {
    release: async () => void cut.push(`released after ${writer.calls.length}`),
    judgeAll: () => void cut.push('all'),
    forget: (addresses: Iterable<Ip>) => void cut.push(...addresses),
    whenForgotten: async () => {},
  }
  const plane = new PolicyPlane({
    families: [{ family: 'IPv4', plan, rules: new StandingRules(), writer, cutter }],
    state,
    lists,
    problems,
    nodeState,
    applied,
    findObstacles: async () => [...obstacles],
    metrics: { observeSync: () => {}, countFailure: () => {} },
    log: silentLogger,
    obstacleIntervalMs: 20,
    minGapMs: () => 0,
  })
  await plane.start()
  context.after(() => plane.stop({ signal: AbortSignal.timeout(1_000) }))
  const list = () => {
    lists.want('everything')
    lists.listed('everything')
    lists.settle()
  }
  const listNode = () => {
    for (const resource of ['services', 'endpointslices', 'endpoints'] as const) nodeState.replace(resource, [], '1')
  }
  const enforced = () => applied.report().planes['policy']
  return {
    plane,
    state,
    lists,
    plan,
    writer,
    cut,
    nodeState,
    applied,
    list,
    listNode,
    enforced,
    reported,
    problems,
    obstacles,
  }
}

function put(state: ClusterState, ...policies: readonly NetworkPolicy[]): void {
  state.setPolicies(new Map(policies.map((each) => [each.key, each])))
}

describe('the plane of policies', () => {
  test('writes nothing before the lists are complete, then everything at once', async (context) => {
    const { plane, state, writer, plan, list, listNode, enforced } = await startPlane(context)
    put(state, policy('a'), policy('b'))
    listNode()
    await new Promise((resolve) => setTimeout(resolve, 30))
    assert.deepEqual(writer.calls, [])
    assert.equal(enforced(), 0)
    assert.equal(plane.health().level, 'unknown')
    list()
    await until('it has written', () => plane.health().level === 'ok')
    assert.deepEqual(writer.calls, ['sync'])
    assert.equal(plan.taken[0]?.policies.size, 2)
    assert.equal(enforced(), 1)
  })

  test('writes a change alone, and judges the connections after it', async (context) => {
    const { plane, state, writer, plan, list, cut } = await startPlane(context)
    list()
    await until('it has written', () => plane.health().level === 'ok')
    cut.length = 0
    put(state, policy('a'))
    await until('it has written again', () => writer.calls.length === 2)
    assert.equal(writer.calls[1], 'write')
    assert.deepEqual([...(plan.taken.at(-1)?.policies.keys() ?? [])], ['shop/a'])
    await until('the connections are judged', () => cut.includes('all'))
    assert.deepEqual(cut, ['released after 2', 'all'], 'what is allowed again is let through before that')
  })

  test('a pod that is announced is applied when its rules are written, and a step without pods at once', async (context) => {
    const { plane, nodeState, applied, list, listNode, enforced, writer, cut } = await startPlane(context)
    list()
    listNode()
    await until('it has written', () => plane.health().level === 'ok' && enforced() === 1)
    nodeState.announcePod({ key: 'shop/web', uid: 'u', containerId: 'c', ips: [address] })
    assert.equal(enforced(), 1)
    await applied.waitUntilPodApplied('c', { signal: AbortSignal.timeout(2_000) })
    assert.equal(enforced(), 2)
    assert.equal(writer.calls.length, 2)
    nodeState.withdrawPod('c')
    await until('the step is applied', () => enforced() === 3)
    assert.ok(cut.includes(address), 'the connections of the address that left its pod are forgotten')
  })

  test('keeps what a failed write should have written and tries again', async (context) => {
    const { plane, state, writer, list, enforced, listNode } = await startPlane(context)
    writer.failures = 2
    put(state, policy('a', 1))
    listNode()
    list()
    await until('it has failed', () => plane.health().message.includes('the lock is held'))
    assert.equal(enforced(), 0)
    await until('it has written', () => plane.health().level === 'ok')
    assert.deepEqual(writer.calls, ['sync', 'write', 'write'])
    assert.equal(enforced(), 1)
  })

  test('a policy that the kernel refuses denies where it is new and keeps its earlier rules where it is not', async (context) => {
    const { plane, state, writer, list, reported, problems } = await startPlane(context)
    put(state, policy('kept', 2), policy('fresh', 11), policy('sound', 3))
    list()
    await until('it has written', () => plane.health().level === 'degraded')
    assert.deepEqual(Object.fromEntries(writer.chains), {
      'PLAT-shop/kept': 2,
      'PLAT-shop/fresh': 0,
      'PLAT-shop/sound': 3,
    })
    assert.deepEqual(reported, ['PolicyRefused shop/fresh'])
    put(state, policy('kept', 12))
    await until('both are set aside', () => problems.counts.refused === 2)
    assert.equal(writer.chains.get('PLAT-shop/kept'), 2)
    assert.match(plane.health().message, /shop\/fresh, shop\/kept/)
    put(state, policy('kept', 4), policy('fresh', 5))
    await until('it is sound again', () => plane.health().level === 'ok')
    assert.equal(writer.chains.get('PLAT-shop/kept'), 4)
    assert.equal(writer.chains.get('PLAT-shop/fresh'), 5)
  })

  test('each policy whose rules name a set that the kernel refuses is set aside, and no other', async (context) => {
    const { plane, state, writer, plan, list, reported, problems } = await startPlane(context)
    put(state, policy('sound', 3), policy('kept', 2))
    list()
    await until('it has written', () => plane.health().level === 'ok')
    plan.usersOf.set('peers', ['shop/fresh', 'shop/kept'])
    writer.refusedSet = { set: 'peers', while: ['PLAT-shop/fresh'] }
    put(state, policy('fresh', 1), policy('kept', 4), policy('sound', 5))
    await until('both are set aside', () => problems.counts.refused === 2)
    assert.deepEqual(Object.fromEntries(writer.chains), {
      'PLAT-shop/sound': 5,
      'PLAT-shop/kept': 2,
      'PLAT-shop/fresh': 0,
    })
    assert.deepEqual(reported.toSorted(), ['PolicyRefused shop/fresh', 'PolicyRefused shop/kept'])
  })

  test('a policy whose set is refused again and again denies, also where it has not changed', async (context) => {
    const { plane, state, writer, plan, list, problems } = await startPlane(context)
    put(state, policy('kept', 2), policy('sound', 3))
    list()
    await until('it has written', () => plane.health().level === 'ok')
    plan.usersOf.set('peers', ['shop/kept'])
    writer.refusedSet = { set: 'peers', while: ['PLAT-shop/kept'] }
    put(state, policy('sound', 5))
    await until('the write has failed', () => plane.health().message.includes('refused'))
    assert.equal(problems.counts.refused, 0, 'once may be a moment of the kernel')
    await until('it is set aside', () => problems.counts.refused === 1)
    assert.deepEqual(Object.fromEntries(writer.chains), { 'PLAT-shop/kept': 0, 'PLAT-shop/sound': 5 })
  })

  test('a node that cannot enforce says so, writes nothing, and keeps no pod waiting', async (context) => {
    const { plane, state, writer, list, listNode, enforced, obstacles } = await startPlane(context, {
      obstacles: ['ipset is missing'],
    })
    put(state, policy('a'))
    list()
    listNode()
    await until('the step is published', () => enforced() === 1)
    assert.equal(plane.health().level, 'degraded')
    assert.match(plane.health().message, /NOT enforced on this node: ipset is missing/)
    assert.equal(plane.isEnforcing, false)
    assert.deepEqual(writer.calls, [])
    obstacles.length = 0
    await until('it enforces', () => plane.health().level === 'ok')
    assert.deepEqual(writer.calls, ['sync'])
  })

  test('a collection that the server does not hand out keeps policies from being enforced until it does', async (context) => {
    const { plane, lists, list, listNode, enforced, writer } = await startPlane(context)
    lists.want('networkpolicies')
    lists.denied('networkpolicies', 'forbidden')
    listNode()
    await until('the step is published', () => enforced() === 1)
    assert.match(plane.health().message, /networkpolicies cannot be read: forbidden/)
    assert.deepEqual(writer.calls, [])
    lists.listed('networkpolicies')
    list()
    await until('it enforces', () => plane.health().level === 'ok')
  })

  test('a pod that becomes known while a write runs is written by the next one', async (context) => {
    const { plane, state, plan, list } = await startPlane(context)
    list()
    await until('it has written', () => plane.health().level === 'ok')
    state.setPods(new Map([['shop/web', record('web')]]))
    await until('it is planned', () => plan.taken.at(-1)?.pods.has('shop/web') === true)
  })
})
