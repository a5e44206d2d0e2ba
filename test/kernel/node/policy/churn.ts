import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'
import fc from 'fast-check'
import { ipFamily } from '../../../../src/model/ip.ts'
import type { NetworkPolicy } from '../../../../src/model/network-policy.ts'
import { PolicyEvaluator } from '../../../../src/node/policy/evaluate.ts'
import type { Direction, Flow } from '../../../../src/node/policy/verdict.ts'
import { anyCluster, anyPolicy } from '../../../helpers/arbitrary-policies.ts'
import { MixedVerdicts, type Possible } from '../../../helpers/mixed-verdicts.ts'
import { clusterOf } from '../../../helpers/policy-cluster.ts'
import { type AddressedTry, type ModelCluster, withModelCluster } from './model-cluster.ts'
import type { AddressedFlow, PolicyObjects } from './policy-nodes.ts'
import { PolicyPlanes } from './policy-planes.ts'

const flowsPerTurn = 150
/** A connection that is not answered by then is lost; the kernel repeats its first packet after a second. */
const patienceMs = 600

export interface Churn {
  /** At least. */
  readonly durationMs: number
  /** It goes on until so many changes have been made. */
  readonly minChanges: number
  readonly seed: number
  /** Changes do not wait for each other, and a policy changes its pods and its rules at once. */
  readonly isHasty?: boolean
}

export interface ChurnReport {
  readonly changes: number
  /** Tries that all states allowed, and that all forbade, among the states (or mixtures of them) that could be in force. */
  readonly allowed: number
  readonly denied: number
  /** One line for each try that went otherwise. */
  readonly wrong: readonly string[]
}

/** Every state that was handed over, and from which on the kernel may still have one. */
class History {
  readonly states: { readonly objects: PolicyObjects; readonly evaluator: PolicyEvaluator }[] = []
  readonly #isMixed: boolean
  oldest = 0

  constructor(isMixed: boolean) {
    this.#isMixed = isMixed
  }

  add(objects: PolicyObjects): void {
    this.states.push({ objects, evaluator: new PolicyEvaluator(clusterOf(objects), { judges: 'everywhere' }) })
  }

  get newest(): PolicyObjects {
    return this.states.at(-1)?.objects ?? assert.fail('no state')
  }

  /**
   * Judges by the states from `oldest` on; where changes do not wait for each other, by their mixtures. The nodes may be at different
   * ones: the egress of one and the ingress of another count together. The verdict is undefined where they disagree.
   */
  judge(oldest: number): (flow: AddressedFlow) => boolean | undefined {
    const states = this.states.slice(oldest)
    const mixed = new MixedVerdicts(states.map(({ objects }) => objects))
    const possible = (direction: Direction, flow: Flow): Possible => {
      if (this.#isMixed) return mixed.possible(direction, flow)
      const verdicts = states.map(({ evaluator }) => evaluator.judge(flow)[direction].isAllowed)
      return { isAllowed: verdicts.includes(true), isDenied: verdicts.includes(false) }
    }
    return ({ source, destination, protocol, port }) => {
      const flow = { source: { address: source }, destination: { address: destination }, protocol, port }
      const directions = [possible('egress', flow), possible('ingress', flow)]
      if (directions.some(({ isAllowed }) => !isAllowed)) return false
      return directions.some(({ isDenied }) => isDenied) ? undefined : true
    }
  }
}

/** Labels, policies and namespaces change at random while connections are tried all the time. */
export async function churnUnderLoad({ durationMs, minChanges, seed, isHasty = false }: Churn): Promise<ChurnReport> {
  const report = { changes: 0, allowed: 0, denied: 0, wrong: [] as string[] }
  await withModelCluster(async (model) => {
    const planes = await PolicyPlanes.start(model)
    const history = new History(isHasty)
    const objects = { ...sampleOne(anyCluster, seed), policies: [] }
    history.add(objects)
    handOver(model, planes, objects)
    planes.completeLists()
    await planes.whenApplied()
    await model.probe(flowsOf(objects, seed).map((flow) => ({ ...flow, isWanted: true })))
    const life = new AbortController()
    const work = [
      change(model, planes, history, { seed, isHasty, signal: life.signal }),
      follow(planes, history, life.signal),
    ]
    const endMs = performance.now() + durationMs
    const isOver = () => performance.now() >= endMs && history.states.length > minChanges
    try {
      for (let turn = 1; !isOver(); turn += 1) await takeTurn(model, history, flowsOf(objects, seed + turn), report)
    } finally {
      life.abort()
      await Promise.all(work)
      await planes.stop()
    }
    report.changes = history.states.length - 1
  })
  return report
}

async function takeTurn(
  model: ModelCluster,
  history: History,
  flows: readonly AddressedFlow[],
  report: { allowed: number; denied: number; wrong: string[] },
): Promise<void> {
  const { oldest } = history
  const judgeBefore = history.judge(oldest)
  const tries: readonly AddressedTry[] = flows.map((flow) => ({ ...flow, isWanted: judgeBefore(flow) === true }))
  for (const { destination, protocol, port } of tries)
    model.prober.listen(model.placeOf(destination), protocol, destination, port)
  const outcomes = await model.prober.probe(
    tries.map((each) => ({ ...each, from: model.placeOf(each.source) })),
    { patienceMs },
  )
  const judge = history.judge(oldest)
  for (const [index, flow] of flows.entries()) {
    const verdict = judge(flow)
    const outcome = outcomes[index] ?? ''
    if (verdict === undefined) continue
    report[verdict ? 'allowed' : 'denied'] += 1
    const expected = verdict ? model.answerTo(flow) : '-'
    const { source, destination, protocol, port } = flow
    if (outcome !== expected)
      report.wrong.push(`${source} > ${destination} ${protocol} ${port}: ${outcome}, not ${expected}`)
  }
}

/** One change after the other; unless they are hasty, each after the one before is written. */
async function change(
  model: ModelCluster,
  planes: PolicyPlanes,
  history: History,
  { seed, isHasty, signal }: { readonly seed: number; readonly isHasty: boolean; readonly signal: AbortSignal },
): Promise<void> {
  for (let n = 1; !signal.aborted; n += 1) {
    const next = changed(history.newest, seed * 1_000 + n, isHasty)
    history.add(next)
    handOver(model, planes, next, history.states.at(-2)?.objects)
    if (!isHasty) await planes.whenApplied()
    await sleep((n % 7) * 15, undefined, { signal }).catch(() => undefined)
  }
}

/** A state that came before one that is applied is out of force. */
async function follow(planes: PolicyPlanes, history: History, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    const newest = history.states.length - 1
    await planes.whenApplied()
    history.oldest = newest
    await sleep(5)
  }
}

/** Labels of a pod, a policy, or labels of a namespace differ. */
function changed(before: PolicyObjects, seed: number, isHasty: boolean): PolicyObjects {
  const drawn = sampleOne(anyCluster, seed)
  const at = seed % before.pods.length
  if (seed % 3 === 0)
    return {
      ...before,
      pods: before.pods.map((pod, index) => ({ ...pod, labels: (index === at ? drawn.pods[at] : pod)?.labels ?? {} })),
    }
  if (seed % 10 === 1) return { ...before, namespaces: drawn.namespaces }
  const policy = sampleOne(anyPolicy, seed)
  const slot = `slot${seed % 3}`
  const next: NetworkPolicy = { ...policy, name: slot, key: `${policy.namespace}/${slot}` }
  const known = before.policies.find(({ key }) => key === next.key)
  const others = before.policies.filter((each) => each !== known)
  if (seed % 4 === 0) return { ...before, policies: others }
  if (known === undefined || isHasty) return { ...before, policies: [...others, next] }
  const { podSelector, ...rules } = next
  return {
    ...before,
    policies: [...others, seed % 2 === 0 ? { podSelector: known.podSelector, ...rules } : { ...known, podSelector }],
  }
}

function handOver(model: ModelCluster, planes: PolicyPlanes, objects: PolicyObjects, before?: PolicyObjects): void {
  const gone = (before?.policies ?? []).map(({ key }) => [key, undefined] as const)
  planes.setPolicies(new Map([...gone, ...objects.policies.map((policy) => [policy.key, policy] as const)]))
  const names = ['x', 'y', 'z']
  planes.setNamespaces(new Map(names.map((name) => [name, objects.namespaces[name]])))
  planes.setPods(
    new Map(
      objects.pods.map(({ key, labels, ips, ports }) => {
        const node = model.nodeOf(model.placeOf(ips[0] ?? assert.fail(key)))
        return [key, { key, labels, ips, node, details: { ports } }]
      }),
    ),
  )
}

function flowsOf({ pods }: PolicyObjects, seed: number): readonly AddressedFlow[] {
  const anyIp = fc.constantFrom(...pods.flatMap(({ ips }) => ips))
  const anyFlow = fc
    .record({
      source: anyIp,
      destination: anyIp,
      protocol: fc.constantFrom('TCP' as const, 'UDP' as const),
      port: fc.integer({ min: 79, max: 82 }),
    })
    .filter(({ source, destination }) => source !== destination && ipFamily(source) === ipFamily(destination))
  return fc.sample(anyFlow, { numRuns: flowsPerTurn, seed })
}

function sampleOne<Value>(arbitrary: fc.Arbitrary<Value>, seed: number): Value {
  const [value] = fc.sample(arbitrary, { numRuns: 1, seed })
  return value ?? assert.fail()
}
