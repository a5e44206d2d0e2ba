import type { EventRecorder } from '../../client/index.ts'
import { Backoff } from '../../loop/backoff.ts'
import { BoundedFrequencyRunner } from '../../loop/bounded-frequency-runner.ts'
import { describeError } from '../../model/errors.ts'
import type { StallReason } from '../cni/index.ts'
import { ContainerMonitor } from './container-monitor.ts'
import { isVolumeFailure } from './errors.ts'
import { LocalPod } from './local-pod.ts'
import { type PodStep, planPod, soonerOf } from './plan.ts'
import type { PodApi } from './pod-api.ts'
import { PodEvents, stepFailures } from './pod-events.ts'
import type { PodFolders, StoredPod } from './pod-folders.ts'
import { findDenial, type PodPermission } from './pod-permission.ts'
import type { PodSpec } from './pod-spec.ts'
import { wantedOf } from './read-pod.ts'
import { reportStatus } from './report-status.ts'
import { type PodProblems, type PodView, phaseOf } from './status.ts'
import { StepExecutor, type StepExecutorParts } from './step-executor.ts'
import type { Traffic } from './traffic.ts'
import { viewContainers } from './view-containers.ts'
import type { VolumeKeeper } from './volumes/volume-keeper.ts'

export interface PodWorkerParts extends StepExecutorParts {
  readonly folders: PodFolders
  readonly api: PodApi
  readonly events: EventRecorder
  readonly traffic: Traffic
  readonly permission: PodPermission
  readonly volumes: Pick<VolumeKeeper, 'make' | 'keep' | 'follow' | 'drop'>
  /** Called when nothing of the pod is left on this node. */
  readonly onForgotten: (uid: string) => void
}

/**
 * Brings one pod to the state that the API asks for: observes it, plans one step (plan.ts), reports the status and executes the step
 * (step-executor.ts), until there is nothing to do. A failed step is retried with backoff; a change or a deadline wakes the worker.
 */
export class PodWorker {
  readonly #parts: PodWorkerParts
  readonly #pod: LocalPod
  readonly #containers: ContainerMonitor
  readonly #executor: StepExecutor
  readonly #runner: BoundedFrequencyRunner
  #problems: PodProblems = {}
  /** The step that runs now, or ran last. */
  #step: PodStep['do'] = 'wait'
  #timer: NodeJS.Timeout | undefined
  #isOver = false

  /** `record` is what an earlier agent stored about the pod. */
  constructor(parts: PodWorkerParts, record: StoredPod | undefined) {
    const { runtime, folders, log } = parts
    this.#parts = parts
    this.#pod = new LocalPod(folders, new PodEvents(parts.events), record)
    this.#containers = new ContainerMonitor({ runtime, folders, log, onChange: () => this.wake() }, this.#pod)
    this.#executor = new StepExecutor(parts, this.#pod, this.#containers, (reason) => this.#reportStall(reason))
    this.#runner = new BoundedFrequencyRunner(() => this.#advance(), {
      backoff: new Backoff({ baseMs: 200, maxMs: 30_000 }),
      onError: (error, retryInMs) => this.#reportFailure(error, retryInMs),
    })
  }

  /** The error of the last step; undefined if it succeeded. */
  get failure(): string | undefined {
    return this.#problems.failure
  }

  /** Undefined if the API does not have the pod. */
  get namespace(): string | undefined {
    return this.#pod.object?.namespace
  }

  /** The phase of the pod; `Leaving` if the API does not have it any more. */
  get phase(): string {
    const { object } = this.#pod
    return object === undefined ? 'Leaving' : phaseOf(this.#view(object))
  }

  /** Takes the current Pod of the API; undefined if the API does not have it. */
  setPod(pod: PodSpec | undefined): void {
    this.#pod.object = pod
    if (pod !== undefined) this.#parts.volumes.follow(pod)
    this.wake()
  }

  wake(): void {
    if (!this.#isOver) this.#runner.request()
  }

  /** Ends the work on the pod. Its processes go on. */
  async stop(scope: { signal: AbortSignal }): Promise<void> {
    this.#finish()
    await this.#runner.stop(scope)
  }

  async #advance(): Promise<void> {
    clearTimeout(this.#timer)
    for (;;) {
      await this.#observe()
      const step = this.#plan()
      const retryAtMs = await this.#reportStatus()
      if (this.#isOver) return
      if (step.do === 'wait') return this.#sleepUntil(soonerOf(step.untilMs, retryAtMs))
      await this.#execute(step)
    }
  }

  async #observe(): Promise<void> {
    await this.#containers.observe()
    const isRunning = Object.values(this.#containers.observed).some(({ state }) => state.kind === 'running')
    if (isRunning && this.#pod.object !== undefined) this.#parts.volumes.keep(this.#pod.object)
    await this.#executor.repeatSignals()
    const { permission, node } = this.#parts
    const denial = this.#pod.object && findDenial(this.#pod.object, permission, node.dialect)
    this.#problems = { ...this.#problems, denial }
  }

  #plan(): PodStep {
    const { object, record } = this.#pod
    const { observed, probes } = this.#containers
    const isLeaving = object?.deletion !== undefined
    return planPod({
      pod: object && wantedOf(object),
      record,
      states: Object.fromEntries(Object.entries(observed).map(([name, { state }]) => [name, state])),
      refused: new Set(this.#executor.refusals.keys()),
      isDenied: this.#problems.denial !== undefined,
      unhealthy: new Set([...probes].filter(([, { isUnhealthy }]) => isUnhealthy).map(([name]) => name)),
      isOutOfRules: !isLeaving || record === undefined || this.#parts.traffic.isOut(record),
      nowMs: Date.now(),
    })
  }

  async #execute(step: Exclude<PodStep, { do: 'wait' }>): Promise<void> {
    this.#step = step.do
    try {
      await this.#executor.execute(step)
      this.#problems = { ...this.#problems, failure: undefined }
    } finally {
      this.#problems = { ...this.#problems, stall: undefined }
    }
    if (step.do !== 'forget') return
    this.#finish()
    if (this.#pod.uid !== undefined) this.#parts.onForgotten(this.#pod.uid)
  }

  /** Ends everything that could wake the worker. */
  #finish(): void {
    this.#isOver = true
    clearTimeout(this.#timer)
    this.#containers.stop()
  }

  #sleepUntil(untilMs: number | undefined): void {
    if (untilMs === undefined || this.#isOver) return
    this.#timer = setTimeout(() => this.wake(), Math.max(1, untilMs - Date.now()))
    this.#timer.unref()
  }

  /** Resolves with the time of the next attempt (ms since 1970) if the API did not accept the status. */
  async #reportStatus(): Promise<number | undefined> {
    const { object } = this.#pod
    return object && reportStatus(this.#pod, this.#view(object), this.#parts)
  }

  #view(pod: PodSpec): PodView {
    return {
      ...this.#problems,
      pod,
      wanted: wantedOf(pod),
      record: this.#pod.record,
      containers: viewContainers(pod, this.#containers.observed, this.#containers.probes, this.#executor.refusals),
      hostIps: this.#parts.node.hostIps(),
      nowMs: Date.now(),
    }
  }

  /** Reports a slow plugin while it runs, and the error of a failed ADD while it is undone. */
  async #reportStall({ failure, waitsFor }: StallReason): Promise<void> {
    this.#problems = { ...this.#problems, stall: waitsFor, ...(failure !== undefined && { failure }) }
    if (failure !== undefined) this.#recordFailure(failure)
    await this.#reportStatus()
  }

  #reportFailure(error: unknown, retryInMs: number): void {
    const failure = describeError(error)
    this.#problems = { ...this.#problems, failure }
    if (isVolumeFailure(error)) this.#pod.recordEvent('FailedMount', failure)
    else this.#recordFailure(failure)
    this.#parts.metrics.countFailure()
    const details = { pod: this.#pod.key, error, retryInMs: Math.round(retryInMs) }
    this.#parts.log.warn('a step of a pod failed and is retried', details)
  }

  #recordFailure(why: string): void {
    const found = stepFailures[this.#step]
    if (found !== undefined) this.#pod.recordEvent(found.reason, `${found.what}: ${why}`)
  }
}
