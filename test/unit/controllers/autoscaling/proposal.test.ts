import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { type Proposal, proposeReplicas } from '../../../../src/controllers/autoscaling/proposal.ts'
import { nowMs, type PodFields, podOf, usageOf } from '../../../helpers/autoscaling.ts'
import { autoscalingDefaults } from '../../../helpers/controller-settings.ts'

interface Row {
  readonly title: string
  readonly pods: readonly (PodFields & { readonly cpu?: number })[]
  readonly percent?: number
  readonly averageMillis?: number
  readonly replicas?: number
  readonly shown?: number
  readonly why?: RegExp
}

const minute = 60_000
/** Each row has what kube-controller-manager proposes for the same pods; a target is 50 % where none is given. */
const rows: readonly Row[] = [
  { title: 'at the target stays', pods: [{ cpu: 50 }, { cpu: 50 }], replicas: 2, shown: 50 },
  { title: 'within a tenth of the target stays', pods: [{ cpu: 55 }, { cpu: 54 }], replicas: 2, shown: 54 },
  { title: 'above it grows in proportion, rounded up', pods: [{ cpu: 80 }, { cpu: 80 }], replicas: 4, shown: 80 },
  {
    title: 'below it shrinks in proportion, rounded up',
    pods: [{ cpu: 10 }, { cpu: 10 }, { cpu: 10 }],
    replicas: 1,
    shown: 10,
  },
  { title: 'without any use goes to none', pods: [{ cpu: 0 }], replicas: 0, shown: 0 },
  { title: 'by an average grows in proportion', pods: [{ cpu: 30 }, { cpu: 50 }], averageMillis: 20, replicas: 4 },
  {
    title: 'above it with a pod without figures counts that as idle',
    pods: [{ cpu: 100 }, { cpu: 100 }, {}],
    replicas: 4,
    shown: 100,
  },
  {
    title: 'below it with a pod without figures counts that as fully used',
    pods: [{ cpu: 10 }, { cpu: 10 }, { cpu: 10 }, {}],
    replicas: 3,
    shown: 10,
  },
  {
    title: 'that would turn round with the assumed pods stays',
    pods: [{ cpu: 60 }, {}, {}],
    replicas: 3,
    shown: 60,
  },
  {
    title: 'above it counts pods that wait as idle',
    pods: [{ cpu: 100 }, { phase: 'Pending' }],
    replicas: 2,
    shown: 100,
  },
  {
    title: 'below it leaves out pods that wait',
    pods: [{ cpu: 10 }, { cpu: 10 }, { phase: 'Pending' }],
    replicas: 1,
    shown: 10,
  },
  {
    title: 'leaves out pods that end or have failed',
    pods: [{ cpu: 100 }, { cpu: 100, isDeleted: true }, { cpu: 100, phase: 'Failed' }],
    replicas: 2,
    shown: 100,
  },
  {
    title: 'leaves out what a young pod used before it was ready for a whole window',
    pods: [{ cpu: 50 }, { cpu: 900, startedAgoMs: minute, readyAgoMs: 5000 }],
    replicas: 2,
    shown: 50,
  },
  {
    title: 'counts a young pod that has been ready for a window',
    pods: [{ cpu: 50 }, { cpu: 150, startedAgoMs: minute, readyAgoMs: 20_000 }],
    replicas: 4,
    shown: 100,
  },
  {
    title: 'leaves out an old pod that was never ready, and counts one that was',
    pods: [
      { cpu: 50 },
      { cpu: 900, isReady: false, startedAgoMs: 10 * minute, readyAgoMs: 10 * minute - 5000 },
      { cpu: 50, isReady: false, startedAgoMs: 10 * minute, readyAgoMs: minute },
    ],
    replicas: 3,
    shown: 50,
  },
  { title: 'of no pods is unknown', pods: [], why: /^no pods returned by selector/ },
  { title: 'of pods without figures is unknown', pods: [{}], why: /^did not receive metrics for targeted pods/ },
  {
    title: 'of pods without a request is unknown for a share',
    pods: [{ cpu: 5, requestMillis: undefined }],
    why: /^missing request for cpu in container c of Pod p0$/,
  },
  {
    title: 'of pods without a request is known for an average',
    pods: [{ cpu: 50, requestMillis: undefined }],
    averageMillis: 25,
    replicas: 2,
  },
]

function propose({ pods, percent = 50, averageMillis }: Row): Proposal {
  const named = pods.map((fields, index) => ({ name: `p${index}`, ...fields }))
  return proposeReplicas({
    currentReplicas: pods.length,
    pods: named.map(({ name, cpu: _, ...fields }) => podOf(name, fields)),
    usage: usageOf(Object.fromEntries(named.map(({ name, cpu }) => [name, cpu]))),
    measured: { resource: 'cpu', container: undefined },
    target:
      averageMillis === undefined ? { kind: 'utilization', percent } : { kind: 'average', thousandths: averageMillis },
    tolerances: { up: 0.1, down: 0.1 },
    settings: autoscalingDefaults,
    nowMs,
  })
}

describe('the size by one metric', () => {
  for (const row of rows)
    test(row.title, () => {
      const proposal = propose(row)
      if (proposal.kind === 'unknown') assert.match(proposal.why, row.why ?? /^$/)
      else assert.deepEqual([proposal.replicas, proposal.percent], [row.replicas, row.shown])
    })

  test('of one container counts that container alone', () => {
    const containers = new Map([
      ['c', { cpu: 90 }],
      ['side', { cpu: 1000 }],
    ])
    const proposal = proposeReplicas({
      currentReplicas: 1,
      pods: [podOf('p0')],
      usage: new Map([['p0', { atMs: nowMs, windowMs: 1, containers }]]),
      measured: { resource: 'cpu', container: 'c' },
      target: { kind: 'utilization', percent: 50 },
      tolerances: { up: 0.1, down: 0.1 },
      settings: autoscalingDefaults,
      nowMs,
    })
    assert.equal(proposal.kind === 'replicas' && proposal.replicas, 2)
  })
})
