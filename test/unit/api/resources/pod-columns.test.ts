import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { ApiDocument } from '../../../../src/api/document.ts'
import { podColumns } from '../../../../src/api/resources/pod-columns.ts'

const now = new Date('2026-01-01T00:10:00Z')
const running = { ready: true, started: true, restartCount: 0, state: { running: {} } }
const unready = { ...running, ready: false }
const waiting = (reason: string) => ({ ready: false, restartCount: 0, state: { waiting: { reason } } })
const ended = (exitCode: number, more: object = {}) => ({
  ready: false,
  restartCount: 0,
  state: { terminated: { exitCode, ...more } },
})
const completed = ended(0, { reason: 'Completed' })
const crashed = (restartCount: number, finishedAt: string) => ({
  ...waiting('CrashLoopBackOff'),
  restartCount,
  lastState: { terminated: { exitCode: 1, finishedAt } },
})
const leaving = { deletionTimestamp: '2026-01-01T00:09:00Z' }

interface Case {
  readonly what: string
  readonly containers: readonly object[]
  readonly inits?: readonly object[]
  readonly sidecars?: boolean
  readonly status?: object
  readonly metadata?: object
  /** READY, STATUS and RESTARTS of `kubectl get pods`. */
  readonly shows: readonly [string, string, string]
}

const cases: readonly Case[] = [
  { what: 'runs', containers: [running, running], shows: ['2/2', 'Running', '0'] },
  { what: 'is not ready', containers: [unready, running], shows: ['1/2', 'Running', '0'] },
  { what: 'was not seen by a node', containers: [], status: { phase: 'Pending' }, shows: ['0/1', 'Pending', '0'] },
  { what: 'is being made', containers: [waiting('ContainerCreating')], shows: ['0/1', 'ContainerCreating', '0'] },
  { what: 'has no image here', containers: [waiting('ImageNotSupported')], shows: ['0/1', 'ImageNotSupported', '0'] },
  {
    what: 'fails again and again',
    containers: [crashed(3, '2026-01-01T00:09:40Z'), crashed(1, '2026-01-01T00:09:20Z')],
    shows: ['0/2', 'CrashLoopBackOff', '4 (20s ago)'],
  },
  {
    what: 'has done its work',
    containers: [completed],
    status: { phase: 'Succeeded' },
    shows: ['0/1', 'Completed', '0'],
  },
  { what: 'ran out of memory', containers: [ended(137, { reason: 'OOMKilled' })], shows: ['0/1', 'OOMKilled', '0'] },
  { what: 'failed without a reason', containers: [ended(3)], shows: ['0/1', 'ExitCode:3', '0'] },
  { what: 'was killed without a reason', containers: [ended(137, { signal: 9 })], shows: ['0/1', 'Signal:9', '0'] },
  {
    what: 'goes on where one container has done its work',
    containers: [completed, running],
    status: { conditions: [{ type: 'Ready', status: 'True' }] },
    shows: ['1/2', 'Running', '0'],
  },
  {
    what: 'goes on unready beside one that has ended',
    containers: [completed, running],
    shows: ['1/2', 'NotReady', '0'],
  },
  {
    what: 'was evicted',
    containers: [],
    status: { phase: 'Failed', reason: 'Evicted' },
    shows: ['0/1', 'Evicted', '0'],
  },
  { what: 'is leaving', containers: [running], metadata: leaving, shows: ['1/1', 'Terminating', '0'] },
  {
    what: 'has ended and is leaving',
    containers: [completed],
    metadata: leaving,
    status: { phase: 'Succeeded' },
    shows: ['0/1', 'Completed', '0'],
  },
  {
    what: 'leaves a node that is lost',
    containers: [running],
    metadata: leaving,
    status: { reason: 'NodeLost' },
    shows: ['1/1', 'Unknown', '0'],
  },
  {
    what: 'runs its first init container',
    inits: [unready, waiting('PodInitializing')],
    containers: [waiting('PodInitializing')],
    shows: ['0/1', 'Init:0/2', '0'],
  },
  {
    what: 'runs its second init container',
    inits: [{ ...completed, restartCount: 2 }, unready],
    containers: [waiting('PodInitializing')],
    shows: ['0/1', 'Init:1/2', '2'],
  },
  {
    what: 'fails in an init container',
    inits: [crashed(2, '2026-01-01T00:08:00Z')],
    containers: [waiting('PodInitializing')],
    shows: ['0/1', 'Init:CrashLoopBackOff', '2 (2m ago)'],
  },
  {
    what: 'failed in an init container',
    inits: [ended(1, { reason: 'Error' })],
    containers: [waiting('PodInitializing')],
    shows: ['0/1', 'Init:Error', '0'],
  },
  {
    what: 'runs beside an init container that runs on',
    sidecars: true,
    inits: [{ ...running, restartCount: 1 }],
    containers: [running],
    shows: ['2/2', 'Running', '1'],
  },
  {
    what: 'waits for its scheduling gates',
    containers: [],
    status: { phase: 'Pending', conditions: [{ type: 'PodScheduled', status: 'False', reason: 'SchedulingGated' }] },
    shows: ['0/1', 'SchedulingGated', '0'],
  },
]

function podOf({ containers, inits = [], sidecars = false, status = {}, metadata = {} }: Case): ApiDocument {
  const named = (statuses: readonly object[]) => statuses.map((each, index) => ({ name: `c${index}`, ...each }))
  const specs = (count: number, more: object = {}) =>
    Array.from({ length: count }, (_, at) => ({ name: `c${at}`, ...more }))
  return {
    metadata,
    spec: {
      containers: specs(containers.length || 1),
      initContainers: specs(inits.length, sidecars ? { restartPolicy: 'Always' } : {}),
    },
    status: { phase: 'Running', containerStatuses: named(containers), initContainerStatuses: named(inits), ...status },
  } as unknown as ApiDocument
}

describe('kubectl get pods of a pod that', () => {
  for (const each of cases)
    test(`${each.what} shows ${each.shows.join(' ')}`, () => {
      const pod = podOf(each)
      assert.deepEqual(
        podColumns.slice(0, 3).map(({ cell }) => cell(pod, now)),
        each.shows,
      )
    })
})
