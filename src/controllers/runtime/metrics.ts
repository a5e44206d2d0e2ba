import type { MetricSpec } from '../../model/metric-spec.ts'
import type { Metrics } from '../../observe/index.ts'

/** The state of a queue that a scrape reads. */
export interface QueueState {
  /** Returns the number of keys that wait for a worker. */
  depth(): number
  /** Returns for each key in progress the time since its work began, in ms. */
  unfinishedMs(): readonly number[]
}

export interface QueueMetrics {
  countAdd(): void
  countRetry(): void
  observeWait(durationMs: number): void
  observeWork(durationMs: number): void
}

type ReconcileResult = 'success' | 'requeue' | 'conflict' | 'error'

export interface ControllerMetrics {
  /** Registers a queue. A queue with the name of an earlier one replaces it. */
  queue(name: string, state: QueueState): QueueMetrics
  countReconcile(controller: string, result: ReconcileResult): void
  setLeader(lease: string, isLeader: boolean): void
}

/** The buckets from 10 ns to 10 s in powers of ten, which dashboards for client-go's queues expect. */
const queueBuckets = Array.from({ length: 10 }, (_, index) => 10 ** (index - 8))

const reconcileResults: readonly ReconcileResult[] = ['success', 'requeue', 'conflict', 'error']

/** Names of queues, controllers and leases are in the code. */
const labels = { name: 'machine' } as const

/** The metrics of queues, reconciliations and leases. */
export const controllerMetrics = {
  adds: { type: 'counter', name: 'workqueue_adds_total', help: 'Keys added to the queue.', labels },
  retries: { type: 'counter', name: 'workqueue_retries_total', help: 'Keys that are tried again.', labels },
  waits: {
    type: 'histogram',
    name: 'workqueue_queue_duration_seconds',
    help: 'How long a key waits before it is worked on, in seconds.',
    labels,
    buckets: queueBuckets,
  },
  works: {
    type: 'histogram',
    name: 'workqueue_work_duration_seconds',
    help: 'How long the work on a key takes, in seconds.',
    labels,
    buckets: queueBuckets,
  },
  depth: { type: 'gauge', name: 'workqueue_depth', help: 'Keys that wait to be worked on.', labels },
  unfinished: {
    type: 'gauge',
    name: 'workqueue_unfinished_work_seconds',
    help: 'How long the work in progress has taken so far, all keys together, in seconds.',
    labels,
  },
  longestRunning: {
    type: 'gauge',
    name: 'workqueue_longest_running_processor_seconds',
    help: 'How long the oldest work in progress has taken so far, in seconds.',
    labels,
  },
  reconciles: {
    type: 'counter',
    name: 'controller_reconcile_total',
    help: 'Reconciliations by controller and result.',
    labels: { controller: 'machine', result: reconcileResults },
  },
  leader: {
    type: 'gauge',
    name: 'leader_election_master_status',
    help: 'Whether this process holds the lease: 1 or 0.',
    labels,
  },
} as const satisfies Record<string, MetricSpec>

/** Creates the metrics. Those that client-go and kube-controller-manager also have carry the names from there. */
export function createControllerMetrics(metrics: Metrics): ControllerMetrics {
  const states = new Map<string, QueueState>()
  collectQueueStates(metrics, states)
  const createQueueMetrics = queueCounters(metrics)
  const reconciles = metrics.counter(controllerMetrics.reconciles)
  const leader = metrics.gauge(controllerMetrics.leader)
  return {
    queue: (name, state) => {
      states.set(name, state)
      return createQueueMetrics(name)
    },
    countReconcile: (controller, result) => reconciles.add(1, { controller, result }),
    setLeader: (name, isLeader) => leader.set(isLeader ? 1 : 0, { name }),
  }
}

function queueCounters(metrics: Metrics): (name: string) => QueueMetrics {
  const adds = metrics.counter(controllerMetrics.adds)
  const retries = metrics.counter(controllerMetrics.retries)
  const waits = metrics.histogram(controllerMetrics.waits)
  const works = metrics.histogram(controllerMetrics.works)
  return (name) => ({
    countAdd: () => adds.add(1, { name }),
    countRetry: () => retries.add(1, { name }),
    observeWait: (durationMs) => waits.observe(durationMs / 1000, { name }),
    observeWork: (durationMs) => works.observe(durationMs / 1000, { name }),
  })
}

function collectQueueStates(metrics: Metrics, states: ReadonlyMap<string, QueueState>): void {
  const collect = (read: (state: QueueState) => number) => () =>
    Array.from(states, ([name, state]) => ({ value: read(state), labels: { name } }))
  metrics.collectedGauge(
    controllerMetrics.depth,
    collect((state) => state.depth()),
  )
  metrics.collectedGauge(
    controllerMetrics.unfinished,
    collect((state) => state.unfinishedMs().reduce((sum, ms) => sum + ms, 0) / 1000),
  )
  metrics.collectedGauge(
    controllerMetrics.longestRunning,
    collect((state) => Math.max(0, ...state.unfinishedMs()) / 1000),
  )
}
