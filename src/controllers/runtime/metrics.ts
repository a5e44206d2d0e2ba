import type { MetricSpec } from '../../model/metric-spec.ts'
import type { Metrics } from '../../observe/index.ts'
import { type AutoscalerMetrics, createAutoscalerMetrics } from './autoscaler-metrics.ts'

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
  /** Registers the pods that wait; a later function replaces an earlier one. */
  watchPending(count: () => PendingPods): void
  observeChoice(durationMs: number): void
  countAttempt(result: SchedulingResult, durationMs: number): void
  /** The metrics of the autoscaling controller, registered at the first call. */
  autoscaler(): AutoscalerMetrics
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

type SchedulingResult = 'scheduled' | 'unschedulable' | 'error'

const schedulingResults: readonly SchedulingResult[] = ['scheduled', 'unschedulable', 'error']

/** The number of pods without a node, by kube-scheduler's names of queues. */
export interface PendingPods {
  readonly active: number
  /** No node can run them. */
  readonly unschedulable: number
}

/** From 1 ms doubling to 16 s, as of kube-scheduler. */
const schedulingBuckets = Array.from({ length: 15 }, (_, index) => 0.001 * 2 ** index)

/** The metrics of the scheduler, with kube-scheduler's names. */
export const schedulerMetrics = {
  attempts: {
    type: 'counter',
    name: 'scheduler_schedule_attempts_total',
    help: 'Attempts to place a pod, by result.',
    labels: { result: schedulingResults, profile: ['default-scheduler'] },
  },
  attemptDuration: {
    type: 'histogram',
    name: 'scheduler_scheduling_attempt_duration_seconds',
    help: 'Time of an attempt to place a pod, its binding included, in seconds.',
    labels: { result: schedulingResults, profile: ['default-scheduler'] },
    buckets: schedulingBuckets,
  },
  algorithmDuration: {
    type: 'histogram',
    name: 'scheduler_scheduling_algorithm_duration_seconds',
    help: 'Time to choose the node of a pod, in seconds.',
    buckets: schedulingBuckets,
  },
  pending: {
    type: 'gauge',
    name: 'scheduler_pending_pods',
    help: 'Pods without a node; unschedulable: no node can run them.',
    labels: { queue: ['active', 'unschedulable'] },
  },
} as const satisfies Record<string, MetricSpec>

/** Creates the metrics. Those that client-go and kube-controller-manager also have carry the names from there. */
export function createControllerMetrics(metrics: Metrics): ControllerMetrics {
  const states = new Map<string, QueueState>()
  collectQueueStates(metrics, states)
  const createQueueMetrics = queueCounters(metrics)
  const reconciles = metrics.counter(controllerMetrics.reconciles)
  const leader = metrics.gauge(controllerMetrics.leader)
  let autoscaler: AutoscalerMetrics | undefined
  return {
    ...createSchedulerMetrics(metrics),
    queue: (name, state) => {
      states.set(name, state)
      return createQueueMetrics(name)
    },
    countReconcile: (controller, result) => reconciles.add(1, { controller, result }),
    setLeader: (name, isLeader) => leader.set(isLeader ? 1 : 0, { name }),
    autoscaler: () => {
      autoscaler ??= createAutoscalerMetrics(metrics)
      return autoscaler
    },
  }
}

type SchedulerMetrics = Pick<ControllerMetrics, 'watchPending' | 'observeChoice' | 'countAttempt'>

function createSchedulerMetrics(metrics: Metrics): SchedulerMetrics {
  let pending: (() => PendingPods) | undefined
  const attempts = metrics.counter(schedulerMetrics.attempts)
  const duration = metrics.histogram(schedulerMetrics.attemptDuration)
  const choices = metrics.histogram(schedulerMetrics.algorithmDuration)
  metrics.collectedGauge(schedulerMetrics.pending, () =>
    Object.entries(pending?.() ?? {}).map(([queue, value]) => ({ value, labels: { queue } })),
  )
  return {
    watchPending: (count) => {
      pending = count
    },
    observeChoice: (durationMs) => choices.observe(durationMs / 1000),
    countAttempt: (result, durationMs) => {
      const labels = { result, profile: 'default-scheduler' }
      attempts.add(1, labels)
      duration.observe(durationMs / 1000, labels)
    },
  }
}

function queueCounters(metrics: Metrics): (name: string) => QueueMetrics {
  const adds = metrics.counter(controllerMetrics.adds)
  const retries = metrics.counter(controllerMetrics.retries)
  const waits = metrics.histogram(controllerMetrics.waits)
  const works = metrics.histogram(controllerMetrics.works)
  return (name) => {
    // A counter that is there from the start shows its first event as an increase.
    for (const counter of [adds, retries]) counter.add(0, { name })
    return {
      countAdd: () => adds.add(1, { name }),
      countRetry: () => retries.add(1, { name }),
      observeWait: (durationMs) => waits.observe(durationMs / 1000, { name }),
      observeWork: (durationMs) => works.observe(durationMs / 1000, { name }),
    }
  }
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
