import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { planChangedSlices, planServiceSlices } from '../../../src/controllers/endpoints/plan-service-slices.ts'
import type { SlicePlan } from '../../../src/controllers/endpoints/plan-slices.ts'
import type { EndpointSlice } from '../../../src/controllers/objects/endpoints.ts'
import type { Pod } from '../../../src/controllers/objects/pod.ts'
import type { Service } from '../../../src/controllers/objects/service.ts'
import { kubernetes, podOf, serviceOf, sliceOf } from '../../helpers/cluster-objects.ts'

const service = serviceOf({ ports: [{ name: 'http', port: 80, targetPort: 'http' }] })

function planFor(owner: Service, pods: Iterable<Pod>, slices: readonly EndpointSlice[]): SlicePlan {
  return planServiceSlices({ service: owner, pods: [...pods], nodeOf: () => undefined, slices, dialect: kubernetes })
}

/** The slices after the plan's first `writes` writes; what comes after them is lost, as in a crash. */
function perform(
  plan: SlicePlan,
  slices: readonly EndpointSlice[],
  nextName: () => string,
  writes = Number.POSITIVE_INFINITY,
) {
  const result = new Map(slices.map((slice) => [slice.metadata.name, slice]))
  const store = (name: string, { family, ports, endpoints }: SlicePlan['creates'][number]) => {
    const labels = {
      [kubernetes.labels.serviceName]: 'web',
      [kubernetes.labels.managedBy]: kubernetes.sliceManagers.selector,
    }
    const ownerReferences = [{ apiVersion: 'v1', kind: 'Service', name: 'web', uid: service.metadata.uid }]
    result.set(name, sliceOf(name, { addressType: family, ports, endpoints }, { labels, ownerReferences }))
  }
  const steps = [
    ...plan.creates.map((content) => () => store(nextName(), content)),
    ...plan.updates.map(
      ({ slice, content }) =>
        () =>
          store(slice.metadata.name, content),
    ),
    ...plan.deletes.map(
      ({ metadata }) =>
        () =>
          result.delete(metadata.name),
    ),
  ]
  for (const step of steps.slice(0, writes)) step()
  return [...result.values()]
}

function countWrites({ creates, updates, deletes }: SlicePlan): number {
  return creates.length + updates.length + deletes.length
}

/** What clients see, whichever slice it stands in. */
function seen(slices: readonly EndpointSlice[]): readonly string[] {
  const texts = slices.flatMap(({ addressType, ports, endpoints }) =>
    endpoints.map(({ addresses, conditions }) =>
      JSON.stringify([addressType, ports.map(({ port }) => port), addresses, conditions]),
    ),
  )
  return texts.sort()
}

const podModel = {
  ready: fc.boolean(),
  port: fc.constantFrom(8080, 8080, 8080, 9090),
  dualStack: fc.boolean(),
}

const podArbitrary = fc.record({ index: fc.nat({ max: 299 }), ...podModel })

interface PodModel {
  readonly index: number
  readonly ready: boolean
  readonly port: number
  readonly dualStack: boolean
}

function makePod({ index, ready, port, dualStack }: PodModel, uid?: string): Pod {
  const ips = [`10.244.${index >> 8}.${index & 255}`, ...(dualStack ? [`fd00::${(index + 1).toString(16)}`] : [])]
  return podOf(`pod-${index}`, {
    ips,
    ready,
    ...(uid !== undefined && { metadata: { labels: { app: 'web' }, uid: `${uid}-${index}` } }),
    spec: { containers: [{ ports: [{ name: 'http', containerPort: port }] }] },
  })
}

test('whatever came before and wherever a pass broke off, the next ones end where a single clean pass ends', () => {
  const round = fc.record({ pods: fc.array(podArbitrary, { maxLength: 260 }), writes: fc.nat({ max: 4 }) })
  fc.assert(
    fc.property(fc.array(round, { minLength: 1, maxLength: 5 }), fc.boolean(), (rounds, isDualStack) => {
      const owner = isDualStack ? serviceOf({ ...service.spec, ipFamilies: ['IPv4', 'IPv6'] }) : service
      let names = 0
      const nextName = () => `web-${names++}`
      let slices: readonly EndpointSlice[] = []
      let pods: readonly Pod[] = []
      for (const { pods: wishes, writes } of rounds) {
        pods = [...new Map(wishes.map((wish) => [wish.index, makePod(wish)])).values()]
        slices = perform(planFor(owner, pods, slices), slices, nextName, writes)
      }
      slices = perform(planFor(owner, pods, slices), slices, nextName)
      const clean = perform(planFor(owner, pods, []), [], nextName)
      assert.deepEqual(seen(slices), seen(clean))
      assert.ok(
        slices.every(
          ({ endpoints, ports }) => endpoints.length <= 100 && ports.every(({ name }) => typeof name === 'string'),
        ),
      )
      assert.equal(countWrites(planFor(owner, pods, slices)), 0, 'a second pass writes nothing')
    }),
    { numRuns: 60 },
  )
})

interface PlacedPod extends Omit<PodModel, 'index'> {
  readonly slice: number
}

interface PodChange extends PodModel {
  readonly kind: 'put' | 'gone' | 'other'
}

const anyPlaced: fc.Arbitrary<PlacedPod> = fc.record({ ...podModel, slice: fc.nat({ max: 2 }) })
const anyChange: fc.Arbitrary<PodChange> = fc.record({
  ...podModel,
  index: fc.nat({ max: 11 }),
  kind: fc.constantFrom('put', 'put', 'put', 'gone', 'other'),
})

/** Pods that stand in three slices, as a pass over all of them leaves them. */
function settledPods(owner: Service, placed: readonly PlacedPod[]) {
  let names = 0
  const nextName = () => `web-${names++}`
  const pods = new Map(placed.map((wish, index) => [`default/pod-${index}`, makePod({ ...wish, index })]))
  const made = [0, 1, 2].flatMap((part) => {
    const own = [...pods.values()].filter((_, index) => placed[index]?.slice === part)
    return own.length === 0 ? [] : perform(planFor(owner, own, []), [], nextName)
  })
  return { pods, slices: perform(planFor(owner, pods.values(), made), made, nextName) }
}

/** By uid the keys of the pods before and after. */
function applyChange(pods: Map<string, Pod>, { kind, ...wish }: PodChange) {
  const key = `default/pod-${wish.index}`
  const old = pods.get(key)
  const next = kind === 'gone' ? undefined : makePod(wish, kind === 'other' ? 'another' : undefined)
  if (next === undefined) pods.delete(key)
  else pods.set(key, next)
  return [old, next].flatMap((pod) => (pod === undefined ? [] : [[pod.metadata.uid, key] as const]))
}

test('a pass over the slices of changed pods writes what one over all would write, or leaves it to that one', () => {
  const outcomes = new Set<'written' | 'nothing to write' | 'left'>()
  fc.assert(
    fc.property(
      fc.array(anyPlaced, { maxLength: 10 }),
      fc.array(anyChange, { maxLength: 3 }),
      fc.boolean(),
      (placed, changes, isDualStack) => {
        const owner = isDualStack ? serviceOf({ ...service.spec, ipFamilies: ['IPv4', 'IPv6'] }) : service
        const { pods, slices } = settledPods(owner, placed)
        const changed = new Map(changes.flatMap((change) => applyChange(pods, change)))
        const podOf = (key: string) => pods.get(key)
        const input = { service: owner, changed, podOf, nodeOf: () => undefined, slices, dialect: kubernetes }
        const part = planChangedSlices(input)
        if (part !== undefined) assert.deepEqual(part.plan, planFor(owner, pods.values(), slices))
        outcomes.add(part === undefined ? 'left' : part.plan.updates.length > 0 ? 'written' : 'nothing to write')
      },
    ),
    { numRuns: 1_000 },
  )
  assert.equal(outcomes.size, 3)
})

test('the order in which pods are seen changes nothing', () => {
  fc.assert(
    fc.property(fc.uniqueArray(podArbitrary, { selector: ({ index }) => index, maxLength: 250 }), (wishes) => {
      const pods = wishes.map((wish) => makePod(wish))
      assert.deepEqual(planFor(service, pods, []), planFor(service, pods.toReversed(), []))
    }),
    { numRuns: 40 },
  )
})

test('5000 pods come and go: never more than 100 in a slice, and no more writes than changes and new slices', () => {
  let names = 0
  const nextName = () => `web-${names++}`
  const pods = new Map<number, Pod>()
  let slices: readonly EndpointSlice[] = []
  let changes = 0
  let writes = 0
  const settle = () => {
    const plan = planFor(service, pods.values(), slices)
    changes += 1
    writes += countWrites(plan)
    slices = perform(plan, slices, nextName)
    assert.ok(slices.every(({ endpoints }) => endpoints.length <= 100))
  }
  // In steps of 250 beside single ones, so that the test stays short.
  for (let index = 0; index < 5000; index++) {
    pods.set(index, podOf(`pod-${index}`, { ips: [`10.${index >> 16}.${(index >> 8) & 255}.${index & 255}`] }))
    if (index % 250 < 2) settle()
  }
  settle()
  assert.equal(seen(slices).length, 5000)
  const grown = writes
  for (let index = 0; index < 5000; index++) {
    pods.delete(index)
    if (index % 250 < 2) settle()
  }
  settle()
  assert.equal(seen(slices).length, 0)
  assert.equal(slices.length, 1, 'the placeholder')
  assert.ok(grown <= 5000 / 100 + changes, `${grown} writes while growing`)
})
