import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import {
  keyByPod,
  planSlices,
  type SlicePlan,
  type SlicePlanInput,
} from '../../../../src/controllers/endpoints/plan-slices.ts'
import type { EndpointGroup, WantedEndpoint, WantedPort } from '../../../../src/controllers/endpoints/wanted-slices.ts'
import type { EndpointSlice } from '../../../../src/controllers/objects/endpoints.ts'
import { sliceOf } from '../../../helpers/cluster-objects.ts'

const http: WantedPort = { name: 'http', protocol: 'TCP', port: 8080 }
const owner = {
  apiVersion: 'v1',
  kind: 'Service',
  name: 'web',
  uid: 'uid-web',
  controller: true,
  blockOwnerDeletion: true,
}
const template = {
  namespace: 'default',
  generateName: 'web-',
  labels: { app: 'web' },
  annotations: {},
  owner,
  passingAnnotations: {},
}

function endpoint(index: number, ready = true): WantedEndpoint {
  return { addresses: [`10.0.0.${index}`], conditions: { ready, serving: ready, terminating: false } }
}

const pod = (address: string) => ({ ...endpoint(1), addresses: [address], targetRef: { uid: 'pod-1' } })

function range(first: number, count: number): WantedEndpoint[] {
  return Array.from({ length: count }, (_, index) => endpoint(first + index))
}

function group(endpoints: readonly WantedEndpoint[], ports: readonly WantedPort[] = [http]): EndpointGroup {
  return { family: 'IPv4', ports, endpoints }
}

function slice(
  name: string,
  endpoints: readonly WantedEndpoint[],
  ports: readonly WantedPort[] = [http],
): EndpointSlice {
  return sliceOf(name, { endpoints, ports }, { labels: { app: 'web' }, ownerReferences: [owner] })
}

function plan(groups: readonly EndpointGroup[], slices: readonly EndpointSlice[], more: Partial<SlicePlanInput> = {}) {
  const settings = { placeholderFamilies: ['IPv4'], template, keyOf: keyByPod, maxEndpoints: 10 } as const
  return planSlices({ groups, slices, ...settings, ...more })
}

/** `+n` creates, `name:n` updates, `-name` deletes. */
function describePlan({ creates, updates, deletes }: SlicePlan): readonly string[] {
  return [
    ...creates.map(({ endpoints }) => `+${endpoints.length}`),
    ...updates.map(({ slice: { metadata }, content }) => `${metadata.name}:${content.endpoints.length}`),
    ...deletes.map(({ metadata }) => `-${metadata.name}`),
  ]
}

describe('the plan of slices', () => {
  const cases: readonly [title: string, plan: SlicePlan, expected: readonly string[]][] = [
    ['nothing selected: one placeholder', plan([], []), ['+0']],
    ['the placeholder is there: nothing', plan([], [slice('a', [], [])]), []],
    ['the placeholder takes the first endpoint', plan([group(range(1, 1))], [slice('a', [], [])]), ['a:1']],
    ['the last endpoint gone: its slice becomes the placeholder', plan([], [slice('a', range(1, 3))]), ['a:0']],
    ['the slices are as they should be: nothing', plan([group(range(1, 3))], [slice('a', range(1, 3))]), []],
    ['full slices first, the rest in one', plan([group(range(1, 25))], []), ['+10', '+10', '+5']],
    ['one more: one write', plan([group(range(1, 4))], [slice('a', range(1, 3))]), ['a:4']],
    ['one less: one write', plan([group(range(1, 2))], [slice('a', range(1, 3))]), ['a:2']],
    [
      'a condition that changed: one write, the endpoint stays in its slice',
      plan([group([endpoint(1, false), ...range(2, 11)])], [slice('a', range(1, 10)), slice('b', range(11, 2))]),
      ['a:10'],
    ],
    [
      'the only pod of a slice gets another address: one write, and it stays there',
      plan([group([...range(2, 3), pod('10.0.1.1')])], [slice('a', [pod('10.0.0.1')]), slice('b', range(2, 3))]),
      ['a:1'],
    ],
    [
      'a new endpoint goes into the slice that changes anyway',
      plan([group([...range(2, 4), ...range(6, 2), endpoint(20)])], [slice('a', range(1, 5)), slice('b', range(6, 2))]),
      ['a:5'],
    ],
    [
      'otherwise into the fullest slice with room for all',
      plan([group(range(1, 20))], [slice('a', range(1, 3)), slice('b', range(4, 9)), slice('c', range(13, 6))]),
      ['c:8'],
    ],
    [
      'no room for all in one slice: a new one, the others are left alone',
      plan([group(range(1, 24))], [slice('a', range(1, 8)), slice('b', range(9, 8))]),
      ['+8'],
    ],
    [
      'sparse slices are not merged',
      plan([group(range(1, 4))], [slice('a', range(1, 2)), slice('b', range(3, 2))]),
      [],
    ],
    [
      'ports that changed: the slice is written anew under its name',
      plan([group(range(1, 3), [{ ...http, port: 9090 }])], [slice('a', range(1, 3))]),
      ['a:3'],
    ],
    [
      'an endpoint that stands twice stays once',
      plan([group(range(1, 2))], [slice('a', range(1, 2)), slice('b', range(1, 1))]),
      ['-b'],
    ],
    [
      'a slice of a former Service of this name goes',
      plan(
        [group(range(1, 1))],
        [sliceOf('old', { endpoints: range(1, 1) }, { ownerReferences: [{ ...owner, uid: 'x' }] })],
      ),
      ['+1', '-old'],
    ],
    [
      'a family that is no longer wanted goes',
      plan([group(range(1, 1))], [slice('a', range(1, 1)), { ...slice('b', []), addressType: 'IPv6' }]),
      ['-b'],
    ],
    [
      'other labels: every slice is written',
      plan([group(range(1, 4))], [slice('a', range(1, 2)), slice('b', range(3, 2))], {
        template: { ...template, labels: { app: 'shop' } },
      }),
      ['a:2', 'b:2'],
    ],
    [
      'passing annotations are no reason to write',
      plan([group(range(1, 2))], [slice('a', range(1, 2))], {
        template: { ...template, passingAnnotations: { 'last-change': 'now' } },
      }),
      [],
    ],
    [
      'an owner without placeholders has no slices when it has no endpoints',
      plan([], [slice('a', range(1, 2))], { placeholderFamilies: [] }),
      ['-a'],
    ],
  ]
  for (const [title, made, expected] of cases) {
    test(title, () => assert.deepEqual(describePlan(made), expected))
  }
})
