import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import {
  type ContainerRecord,
  type ContainerState,
  type PodRecord,
  type PodStep,
  planPod,
  type WantedPod,
} from '../../../../src/node/pods/plan.ts'

/** One pod on a simulated node. The record and the node differ when the agent is killed between the write and the change. */
class SimulatedPod {
  nowMs = 1_000_000
  pod: WantedPod | undefined
  record: PodRecord | undefined
  isObjectThere = true
  hasNetwork = false
  isOutOfRules = false
  readonly runs = new Map<string, ContainerState>()
  readonly log: PodStep[] = []

  constructor(pod: WantedPod) {
    this.pod = pod
  }

  get states(): Record<string, ContainerState> {
    const known = Object.entries(this.record?.containers ?? {})
    return Object.fromEntries(
      known.map(([name, { attempt }]) => [name, this.runs.get(`${name}/${attempt}`) ?? { kind: 'none' }]),
    )
  }

  plan(): PodStep {
    const { pod, record, states, isOutOfRules, nowMs } = this
    const none = new Set<string>()
    return planPod({ pod, record, states, refused: none, isDenied: false, unhealthy: none, isOutOfRules, nowMs })
  }

  /** `killed`: the agent ends after the step was stored and before it changed the node. */
  perform(step: PodStep, killed: boolean): void {
    this.log.push(step)
    this.#write(this.#noteOf(step))
    if (!killed) this.#act(step)
  }

  #noteOf(step: PodStep): Partial<PodRecord> {
    if (step.do === 'make-sandbox') return { sandbox: 'making' }
    if (step.do === 'remove-sandbox') return { sandbox: 'removing' }
    if (step.do === 'stop') return { stop: { atMs: this.nowMs, graceSeconds: step.graceSeconds } }
    if (step.do !== 'start') return {}
    const run: ContainerRecord = { attempt: step.attempt, level: step.level }
    return { containers: { ...this.record?.containers, [step.container]: run } }
  }

  #act(step: PodStep): void {
    if (step.do === 'make-sandbox') this.#setNetwork(true)
    if (step.do === 'remove-sandbox') this.#setNetwork(false)
    if (step.do === 'start')
      this.runs.set(`${step.container}/${step.attempt}`, { kind: 'running', startedAtMs: this.nowMs })
    if (step.do === 'kill') for (const name of this.runs.keys()) this.exit(name, 137)
    if (step.do === 'delete-object') [this.isObjectThere, this.pod] = [false, undefined]
    if (step.do === 'forget') this.record = undefined
  }

  #setNetwork(has: boolean): void {
    this.hasNetwork = has
    this.#write({ sandbox: has ? 'ready' : 'none' })
  }

  exit(run: string, exitCode: number): void {
    const state = this.runs.get(run)
    if (state?.kind === 'running')
      this.runs.set(run, { kind: 'exited', exitCode, startedAtMs: state.startedAtMs, finishedAtMs: this.nowMs })
  }

  isRunning(): boolean {
    return this.runs.values().some(({ kind }) => kind === 'running')
  }

  #write(change: Partial<PodRecord>): void {
    if (this.record === undefined && Object.keys(change).length === 0) return
    const empty: PodRecord = { uid: 'u', namespace: 'default', name: 'web', sandbox: 'none', ips: [], containers: {} }
    this.record = { ...empty, ...this.record, ...change }
  }
}

const wantedPod: fc.Arbitrary<WantedPod> = fc.record({
  restartPolicy: fc.constantFrom('Always', 'OnFailure', 'Never'),
  graceSeconds: fc.integer({ min: 0, max: 30 }),
  initContainers: fc.constantFrom([], ['init-1'], ['init-1', 'init-2']),
  containers: fc.constantFrom(['a'], ['a', 'b']),
  deletion: fc.constant(undefined),
})

type Event =
  | { readonly kind: 'step'; readonly killed: boolean }
  | { readonly kind: 'exit'; readonly code: number }
  | { readonly kind: 'time'; readonly ms: number }
  | { readonly kind: 'delete'; readonly graceSeconds: number }
  | { readonly kind: 'vanish' }
  | { readonly kind: 'out-of-rules' }

const event: fc.Arbitrary<Event> = fc.oneof(
  { weight: 8, arbitrary: fc.record({ kind: fc.constant('step' as const), killed: fc.boolean() }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('exit' as const), code: fc.constantFrom(0, 1, 137) }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('time' as const), ms: fc.integer({ min: 1, max: 400_000 }) }) },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constant('delete' as const), graceSeconds: fc.integer({ min: 0, max: 30 }) }),
  },
  { weight: 1, arbitrary: fc.constant({ kind: 'vanish' as const }) },
  { weight: 1, arbitrary: fc.constant({ kind: 'out-of-rules' as const }) },
)

function apply(world: SimulatedPod, happening: Event): void {
  if (happening.kind === 'time') world.nowMs += happening.ms
  else if (happening.kind === 'out-of-rules') world.isOutOfRules = true
  else if (happening.kind === 'vanish') {
    world.pod = undefined
    world.isObjectThere = false
  } else if (happening.kind === 'exit') for (const name of world.runs.keys()) world.exit(name, happening.code)
  else if (happening.kind === 'delete' && world.pod !== undefined) {
    world.pod = { ...world.pod, deletion: { atMs: world.nowMs, graceSeconds: happening.graceSeconds } }
  } else if (happening.kind === 'step') takeStep(world, happening.killed)
}

/** Asserts that the planned step is allowed now. */
function takeStep(world: SimulatedPod, killed: boolean): void {
  const step = world.plan()
  const { record, pod, nowMs } = world
  if (step.do === 'remove-sandbox') assert.ok(!world.isRunning(), 'the network goes while a container runs')
  if (step.do === 'make-sandbox') assert.ok(!world.isRunning(), 'the network is made anew while a container runs')
  if (step.do === 'delete-object') assert.ok(!world.isRunning() && !world.hasNetwork, 'the object goes before the pod')
  if (step.do === 'forget') assert.ok(!world.isRunning() && !world.hasNetwork && !world.isObjectThere)
  if (step.do === 'start') {
    assert.ok(world.hasNetwork, 'a container starts without a network')
    assert.notEqual(world.states[step.container]?.kind, 'running', 'a container starts twice')
  }
  if (step.do === 'stop' && pod?.deletion !== undefined) {
    const isLate = nowMs >= pod.deletion.atMs + 20_000 || pod.deletion.graceSeconds === 0
    assert.ok(world.isOutOfRules || isLate, 'SIGTERM while traffic still comes')
  }
  if (step.do === 'kill') {
    assert.ok(record?.stop, 'SIGKILL without SIGTERM')
    const grace = Math.min(record.stop.graceSeconds, pod?.deletion?.graceSeconds ?? 1)
    assert.ok(nowMs >= record.stop.atMs + grace * 1000, 'SIGKILL within the grace')
  }
  world.perform(step, killed)
}

describe('the plan of a pod', () => {
  test('no sequence of events and kills of the agent leads to a step out of order', () => {
    fc.assert(
      fc.property(wantedPod, fc.array(event, { maxLength: 60 }), (pod, events) => {
        const world = new SimulatedPod(pod)
        for (const happening of events) apply(world, happening)
      }),
      { numRuns: 3000 },
    )
  })

  test('a deleted pod disappears in the end, and nothing of it is left', () => {
    fc.assert(
      fc.property(wantedPod, fc.array(event, { maxLength: 40 }), (pod, events) => {
        const world = new SimulatedPod(pod)
        for (const happening of events) apply(world, happening)
        if (world.pod !== undefined) apply(world, { kind: 'delete', graceSeconds: 5 })
        for (let steps = 0; steps < 60; steps += 1) {
          takeStep(world, false)
          world.nowMs += 2000
        }
        assert.deepEqual(
          [world.record, world.isObjectThere, world.hasNetwork, world.isRunning()],
          [undefined, false, false, false],
        )
      }),
      { numRuns: 1000 },
    )
  })

  test('a pod that stays in the rules gets its SIGTERM after 20 s, and not before', () => {
    const world = new SimulatedPod({
      restartPolicy: 'Always',
      graceSeconds: 1,
      initContainers: [],
      containers: ['a'],
      deletion: undefined,
    })
    for (let steps = 0; steps < 5; steps += 1) takeStep(world, false)
    apply(world, { kind: 'delete', graceSeconds: 5 })
    const deletedMs = world.nowMs
    while (world.plan().do === 'wait') world.nowMs += 100
    assert.deepEqual([world.plan(), world.nowMs - deletedMs], [{ do: 'stop', graceSeconds: 5 }, 20_000])
  })

  test('init containers run one after the other, each to its success, before the containers', () => {
    const world = new SimulatedPod({
      restartPolicy: 'Always',
      graceSeconds: 1,
      initContainers: ['one', 'two'],
      containers: ['a', 'b'],
      deletion: undefined,
    })
    for (let steps = 0; steps < 20; steps += 1) {
      takeStep(world, false)
      // The first init container fails once.
      world.exit('one/0', 1)
      world.exit('one/1', 0)
      world.exit('two/0', 0)
      world.nowMs += 1000
    }
    const started = world.log.flatMap((step) => (step.do === 'start' ? [`${step.container}/${step.attempt}`] : []))
    assert.deepEqual(started, ['one/0', 'one/1', 'two/0', 'a/0', 'b/0'])
  })

  test('a failing container restarts at once, then after 10 s, doubled up to 5 min', () => {
    const world = new SimulatedPod({
      restartPolicy: 'Always',
      graceSeconds: 1,
      initContainers: [],
      containers: ['a'],
      deletion: undefined,
    })
    const gaps: number[] = []
    let endedMs = world.nowMs
    while (gaps.length < 8) {
      const step = world.plan()
      if (step.do === 'wait') world.nowMs = step.untilMs ?? world.nowMs
      else takeStep(world, false)
      if (step.do !== 'start') continue
      if (step.attempt > 0) gaps.push((world.nowMs - endedMs) / 1000)
      world.exit(`a/${step.attempt}`, 1)
      endedMs = world.nowMs
    }
    assert.deepEqual(gaps, [0, 10, 20, 40, 80, 160, 300, 300])
  })
})
