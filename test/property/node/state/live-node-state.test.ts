import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { LiveNodeState, type WatchedResource } from '../../../../src/node/state/index.ts'
import { readObject, type StoredObject } from '../../../../src/node/state/stored-object.ts'
import { silentLogger } from '../../../../src/observe/index.ts'
import { dialect, type WireFixture, wireEndpoints, wireService, wireSlice } from '../../../helpers/wire-objects.ts'

interface Step {
  readonly resource: WatchedResource
  readonly name: string
  /** Undefined is a deletion. */
  readonly object: StoredObject | undefined
}

const names = fc.constantFrom('a', 'b', 'c')
const number = fc.integer({ min: 1, max: 3 })

function stepOf(resource: WatchedResource, name: string, object: WireFixture | undefined): Step {
  return { resource, name, object: object && readObject(resource, object, dialect) }
}

const contents = fc.option(fc.tuple(number, names), { nil: undefined, freq: 3 })

const steps: fc.Arbitrary<Step> = fc.oneof(
  fc
    .tuple(names, contents)
    .map(([name, content]) =>
      stepOf('services', name, content && wireService(name, '1', { ports: [{ port: content[0] }] })),
    ),
  fc
    .tuple(names, contents)
    .map(([name, content]) =>
      stepOf(
        'endpointslices',
        name,
        content && wireSlice(name, content[1], '1', { ports: [{ name: '', port: content[0] }] }),
      ),
    ),
  fc
    .tuple(names, contents)
    .map(([name, content]) =>
      stepOf('endpoints', name, content && wireEndpoints(name, '1', [{ addresses: [{ ip: `10.0.0.${content[0]}` }] }])),
    ),
)

const resources = ['services', 'endpointslices', 'endpoints'] as const

function take(state: LiveNodeState, { resource, name, object }: Step): void {
  if (object === undefined) state.remove(resource, `default/${name}`, '2')
  else state.upsert(resource, object)
}

function replay(all: readonly Step[]): LiveNodeState {
  const state = new LiveNodeState(silentLogger)
  for (const resource of resources) state.replace(resource, [], '1')
  for (const step of all) take(state, step)
  return state
}

/** What a reader can see, as one comparable text. */
function pictureOf(state: LiveNodeState): string {
  const services = [...state.serviceKeys()].toSorted().map((key) => state.service(key))
  const slices = ['a', 'b', 'c'].map((name) => state.slicesOf(`default/${name}`))
  return JSON.stringify({ services, slices })
}

/** The last step of each object; what a list at the end would hold. */
function lastOf(all: readonly Step[]): Step[] {
  return [...new Map(all.map((step) => [`${step.resource} ${step.name}`, step])).values()]
}

describe('the node state', () => {
  it('is the same for any interleaving of the same changes', () => {
    fc.assert(
      fc.property(fc.array(steps, { maxLength: 25 }), fc.array(fc.nat(8)), (all, picks) => {
        const queues = Map.groupBy(all, (step) => `${step.resource} ${step.name}`)
          .values()
          .map((queue) => [...queue])
          .toArray()
        const shuffled: Step[] = []
        for (let turn = 0; shuffled.length < all.length; turn += 1) {
          const waiting = queues.filter((queue) => queue.length > 0)
          const step = waiting[(picks[turn % Math.max(picks.length, 1)] ?? turn) % waiting.length]?.shift()
          if (step !== undefined) shuffled.push(step)
        }
        assert.equal(pictureOf(replay(shuffled)), pictureOf(replay(all)))
      }),
    )
  })

  it('is the same after a list as after the changes that led to it, and the list changes nothing then', () => {
    fc.assert(
      fc.property(fc.array(steps, { maxLength: 25 }), fc.array(steps, { maxLength: 5 }), (all, earlier) => {
        const replayed = replay(all)
        const revision = replayed.revision
        const replaced = replay(earlier)
        for (const resource of resources) {
          const last = lastOf(all).filter((step) => step.resource === resource)
          const objects = last.map((step) => step.object).filter((object) => object !== undefined)
          replayed.replace(resource, objects, '9')
          replaced.replace(resource, objects, '9')
        }
        assert.equal(pictureOf(replaced), pictureOf(replayed))
        assert.equal(replayed.revision, revision)
      }),
    )
  })

  it('names exactly the Services that a reader sees changed', () => {
    fc.assert(
      fc.property(fc.array(steps, { maxLength: 25 }), (all) => {
        const state = replay([])
        let named: string[] = []
        state.subscribe(({ services }) => {
          named = [...services].toSorted()
        })
        const look = () =>
          ['a', 'b', 'c'].map((name) =>
            JSON.stringify([state.service(`default/${name}`), state.slicesOf(`default/${name}`)]),
          )
        for (const step of all) {
          const before = look()
          named = []
          take(state, step)
          const after = look()
          const changed = ['a', 'b', 'c']
            .filter((_, index) => before[index] !== after[index])
            .map((name) => `default/${name}`)
          assert.deepEqual(named, changed)
        }
      }),
    )
  })
})
