import { setTimeout as sleep } from 'node:timers/promises'
import type { EventRecorder } from '../../client/index.ts'
import { Backoff } from '../../loop/backoff.ts'
import { BoundedFrequencyRunner } from '../../loop/bounded-frequency-runner.ts'
import type { Dialect } from '../../model/dialect.ts'
import { describeError } from '../../model/errors.ts'
import type { Ip } from '../../model/ip.ts'
import type { Logger } from '../../observe/index.ts'
import type { StallReason } from '../cni/index.ts'
import { type ApiService, type LaunchDecision, planLaunch, type Refusal } from './container-launch.ts'
import { ContainerProbes, describeProbeFailure } from './container-probes.ts'
import { isVolumeFailure } from './errors.ts'
import type { PodsMetrics } from './metrics.ts'
import { type ContainerState, type PodStep, planPod, soonerOf } from './plan.ts'
import type { PodApi } from './pod-api.ts'
import { type PodEventReason, PodEvents, stepFailures } from './pod-events.ts'
import type { PodFiles, PodFolders, StoredPod } from './pod-folders.ts'
import { type Bar, findBar, type PodPermission } from './pod-permission.ts'
import type { ContainerSpec, PodSpec } from './pod-spec.ts'
import { findContainer, newRecord, wantedOf, wasReady } from './read-pod.ts'
import { RunWatches } from './run-watches.ts'
import type { ContainerRun, PodRuntime } from './runtime.ts'
import type { SandboxTurns } from './sandbox-turns.ts'
import { backOffOf, changedStatus, describeStatus, isHeldBack, type PodView, phaseOf } from './status.ts'
import type { Traffic } from './traffic.ts'
import { none, type Observed, viewContainers } from './view-containers.ts'
import type { VolumeKeeper } from './volumes/volume-keeper.ts'

export interface PodWorkerParts {
  readonly runtime: PodRuntime
  readonly folders: PodFolders
  readonly api: PodApi
  readonly events: EventRecorder
  readonly traffic: Traffic
  readonly dialect: Dialect
  readonly nodeName: string
  readonly hostIps: readonly [Ip, ...Ip[]]
  readonly permission: PodPermission
  /** The Service by which programs in pods find the API server, if they are to know it. */
  readonly apiService: () => ApiService | undefined
  /** The folder whose own folders may be root filesystems. */
  readonly rootFilesystems: string | undefined
  readonly files: (pod: PodSpec, ips: readonly Ip[]) => Promise<PodFiles>
  readonly volumes: Volumes
  readonly turns: SandboxTurns
  readonly metrics: PodsMetrics
  readonly log: Logger
  /** Nothing of the pod is left here. */
  readonly onForgotten: (uid: string) => void
}

/** The volumes of this node's pods, as VolumeKeeper has them. */
type Volumes = Pick<VolumeKeeper, 'make' | 'keep' | 'follow' | 'drop'>

const afterKillMs = 20
const statusRetryMs = 2000

/** Brings one pod, step by step, to where the API wants it. What it does is decided in plan.ts; what is done stands on disk before it is done. */
export class PodWorker {
  readonly #parts: PodWorkerParts
  readonly #flight: BoundedFrequencyRunner
  readonly #probes = new Map<string, ContainerProbes>()
  readonly #watches = new RunWatches(() => this.wake())
  readonly #events: PodEvents
  #pod: PodSpec | undefined
  #uid: string | undefined
  #record: StoredPod | undefined
  #states: Readonly<Record<string, Observed>> = {}
  #refusals = new Map<string, Refusal>()
  #trouble: string | undefined
  /** Why the step that is done now takes long, if so. */
  #delay: string | undefined
  /** The one that is done, or was the last to fail. */
  #step: PodStep['do'] = 'wait'
  /** Why nothing new is begun for the pod, if so. */
  #bar: Bar | undefined
  /** An agent before this one may have ended between writing down that something ends and telling its processes. */
  #mustRepeatSignal: boolean
  #timer: NodeJS.Timeout | undefined
  #isOver = false

  /** A record is what an agent before this one wrote down. */
  constructor(parts: PodWorkerParts, record: StoredPod | undefined) {
    this.#parts = parts
    this.#record = record
    this.#uid = record?.uid
    this.#mustRepeatSignal = record !== undefined
    this.#events = new PodEvents(parts.events)
    this.#flight = new BoundedFrequencyRunner(() => this.#advance(), {
      backoff: new Backoff({ baseMs: 200, maxMs: 30_000 }),
      onError: (error, retryInMs) => this.#onTrouble(error, retryInMs),
    })
  }

  get record(): StoredPod | undefined {
    return this.#record
  }

  /** Undefined where the last step worked. */
  get trouble(): string | undefined {
    return this.#trouble
  }

  get namespace(): string | undefined {
    return this.#pod?.namespace
  }

  get phase(): string {
    return this.#pod === undefined ? 'Leaving' : phaseOf(this.#view(this.#pod))
  }

  /** What the API says now; undefined when it has no such pod. */
  setPod(pod: PodSpec | undefined): void {
    this.#pod = pod
    this.#uid ??= pod?.uid
    if (pod !== undefined) this.#parts.volumes.follow(pod)
    this.wake()
  }

  wake(): void {
    if (!this.#isOver) this.#flight.request()
  }

  /** Leaves the pod as it is: its processes go on. */
  async stop(scope: { signal: AbortSignal }): Promise<void> {
    this.#isOver = true
    this.#release()
    await this.#flight.stop(scope)
  }

  async #advance(): Promise<void> {
    clearTimeout(this.#timer)
    for (;;) {
      await this.#observe()
      this.#bar = this.#pod && findBar(this.#pod, this.#parts.permission, this.#parts.dialect)
      const step = this.#plan()
      const retryAtMs = await this.#tellStatus()
      if (this.#isOver) return
      if (step.do === 'wait') return this.#sleepUntil(soonerOf(step.untilMs, retryAtMs))
      this.#step = step.do
      await this.#perform(step)
      this.#trouble = undefined
    }
  }

  #plan(): PodStep {
    const pod = this.#pod
    const record = this.#record
    const isLeaving = pod?.deletion !== undefined
    return planPod({
      pod: pod && wantedOf(pod),
      record,
      states: Object.fromEntries(Object.entries(this.#states).map(([name, { state }]) => [name, state])),
      refused: new Set(this.#refusals.keys()),
      isBarred: this.#bar !== undefined,
      unhealthy: new Set([...this.#probes].filter(([, probes]) => probes.isUnhealthy).map(([name]) => name)),
      isOutOfRules: !isLeaving || record === undefined || this.#parts.traffic.isOut(record),
      nowMs: Date.now(),
    })
  }

  async #perform(step: Exclude<PodStep, { do: 'wait' }>): Promise<void> {
    this.#parts.log.debug('pod step', {
      pod: this.#name,
      step: step.do,
      ...('container' in step && { container: step.container }),
    })
    if (step.do === 'make-sandbox') return this.#inTurn(() => this.#makeSandbox())
    if (step.do === 'start') return this.#start(step)
    if (step.do === 'stop-container') return this.#stopContainer(step.container)
    if (step.do === 'kill-container') return this.#kill([step.container])
    if (step.do === 'stop') return this.#stop(step.graceSeconds)
    if (step.do === 'kill') return this.#kill(Object.keys(this.#states))
    if (step.do === 'remove-sandbox') return this.#inTurn(() => this.#removeSandbox())
    if (step.do === 'delete-object') return this.#deleteObject()
    return this.#forget()
  }

  /** Nobody has to wait for the end of a plugin that hangs to learn of it, be it one of another pod. */
  async #inTurn(work: () => Promise<void>): Promise<void> {
    const { runtime, turns } = this.#parts
    const stallReason = (): StallReason | undefined => this.#record && runtime.stallReasonOf(this.#record)
    try {
      await turns.run({ pod: this.#name, stallReason, tell: (why) => this.#reportStall(why) }, work)
    } finally {
      this.#delay = undefined
    }
  }

  async #reportStall({ failure, waitsFor }: StallReason): Promise<void> {
    this.#delay = waitsFor
    if (failure !== undefined) {
      this.#trouble = failure
      this.#tellFailure(failure)
    }
    await this.#tellStatus()
  }

  async #makeSandbox(): Promise<void> {
    const pod = this.#pod
    if (pod === undefined) return
    const startedMs = performance.now()
    const record = this.#record ?? newRecord(pod, this.#parts.runtime.engineSocket, this.#parts.dialect)
    await this.#write({ ...record, sandbox: 'making', ips: [] })
    const ips = await this.#parts.runtime.makeSandbox(record)
    await this.#parts.folders.writeFiles(pod.uid, await this.#parts.files(pod, ips))
    await this.#write({ ...record, sandbox: 'ready', ips })
    this.#parts.metrics.observeSandbox((performance.now() - startedMs) / 1000)
    this.#parts.log.info('pod has its network', { pod: pod.key, ips: ips.join() })
  }

  async #removeSandbox(): Promise<void> {
    const record = this.#record
    if (record === undefined) return
    await this.#write({ ...record, sandbox: 'removing', containers: this.#withEnds(record) })
    await this.#parts.runtime.removeSandbox(record)
    await this.#parts.volumes.drop(record.uid)
    await this.#write({ ...record, containers: this.#withEnds(record), sandbox: 'none', ips: [] })
  }

  #withEnds({ containers }: StoredPod): StoredPod['containers'] {
    const ended = Object.entries(containers).map(([name, known]) => {
      const state = this.#states[name]?.state
      return [name, state?.kind === 'exited' ? { ...known, end: state } : known] as const
    })
    return Object.fromEntries(ended)
  }

  async #start({ container, attempt, level }: Extract<PodStep, { do: 'start' }>): Promise<void> {
    const [pod, record] = [this.#pod, this.#record]
    const spec = pod && findContainer(pod, container)
    if (pod === undefined || record === undefined || spec === undefined) return
    const decision = this.#decide(pod, spec)
    if (decision.kind === 'refused') {
      this.#refusals.set(container, decision.refusal)
      this.#parts.log.warn('a container is not run', { pod: pod.key, container, ...decision.refusal })
      this.#tell('Failed', `Error: ${decision.refusal.reason}: ${decision.refusal.message}`)
      return
    }
    await this.#parts.volumes.make(pod)
    this.#dropProbes(container)
    await this.#write({ ...record, containers: { ...record.containers, [container]: { attempt, level } } })
    const problems = await this.#parts.runtime.start(pod, record, { container, attempt }, decision.launch)
    for (const problem of problems) this.#parts.log.warn(problem, { pod: pod.key, container })
    this.#parts.metrics.countStart(attempt > 0)
    this.#tell('Started', `Started container ${container}`)
  }

  #decide(pod: PodSpec, container: ContainerSpec): LaunchDecision {
    const { nodeName, hostIps, dialect, runtime, rootFilesystems } = this.#parts
    const apiService = this.#parts.apiService()
    const facts = { nodeName, hostIp: hostIps[0], podIps: this.#record?.ips ?? [], apiService, rootFilesystems }
    return planLaunch(pod, container, { ...facts, runsImages: runtime.engineSocket !== undefined }, dialect)
  }

  async #stopContainer(container: string): Promise<void> {
    const record = this.#record
    const known = record?.containers[container]
    if (record === undefined || known === undefined) return
    this.#parts.log.warn('a container is started again: its probe failed', { pod: this.#name, container })
    this.#tell('Killing', `Container ${container} failed its liveness or startup probe, will be restarted`)
    this.#dropProbes(container)
    const stopping = { ...known, stopAtMs: Date.now() }
    await this.#write({ ...record, containers: { ...record.containers, [container]: stopping } })
    await this.#signal([container], 'SIGTERM')
  }

  async #stop(graceSeconds: number): Promise<void> {
    const record = this.#record
    if (record === undefined) return
    await this.#write({ ...record, stop: { atMs: Date.now(), graceSeconds } })
    for (const [name, { state }] of Object.entries(this.#states))
      if (state.kind === 'running') this.#tell('Killing', `Stopping container ${name}`)
    await this.#signal(Object.keys(this.#states), 'SIGTERM')
  }

  async #kill(containers: readonly string[]): Promise<void> {
    await this.#signal(containers, 'SIGKILL')
    await sleep(afterKillMs)
  }

  async #deleteObject(): Promise<void> {
    if (this.#pod !== undefined) await this.#parts.api.remove(this.#pod)
    this.#pod = undefined
  }

  async #forget(): Promise<void> {
    this.#release()
    this.#isOver = true
    if (this.#uid === undefined) return
    await this.#parts.volumes.drop(this.#uid)
    this.#parts.folders.remove(this.#uid)
    this.#record = undefined
    this.#parts.onForgotten(this.#uid)
  }

  async #observe(): Promise<void> {
    const record = this.#record
    if (record === undefined) return
    const nowMs = Date.now()
    const states: Record<string, Observed> = {}
    for (const [container, { attempt, end }] of Object.entries(record.containers)) {
      const state = end ?? (await this.#parts.runtime.state(record, { container, attempt }, nowMs))
      const previous =
        attempt === 0 ? none : await this.#parts.runtime.state(record, { container, attempt: attempt - 1 }, nowMs)
      states[container] = { state, previous }
      this.#follow(container, { container, attempt }, state)
    }
    this.#states = states
    const isRunning = Object.values(states).some(({ state }) => state.kind === 'running')
    if (isRunning && this.#pod !== undefined) this.#parts.volumes.keep(this.#pod)
    await this.#repeatSignal(record)
  }

  /** Those that were to end already are told now: once more, or for the first time. */
  async #repeatSignal({ stop, containers }: StoredPod): Promise<void> {
    if (!this.#mustRepeatSignal) return
    this.#mustRepeatSignal = false
    const names = Object.keys(this.#states)
    await this.#signal(stop ? names : names.filter((name) => containers[name]?.stopAtMs !== undefined), 'SIGTERM')
  }

  /** Probes and a watch for as long as a run lasts. */
  #follow(container: string, run: ContainerRun, state: ContainerState): void {
    const isGoing = state.kind === 'running' || state.kind === 'starting'
    if (isGoing && this.#record !== undefined)
      this.#watches.watch(container, this.#parts.folders.runFolder(this.#record.uid, run))
    else this.#watches.drop(container)
    if (state.kind !== 'running') this.#dropProbes(container)
    const spec = this.#pod && findContainer(this.#pod, container)
    if (state.kind === 'running' && spec !== undefined && !this.#probes.has(container)) this.#probe(spec, run)
  }

  #probe(spec: ContainerSpec, run: ContainerRun): void {
    const [pod, record] = [this.#pod, this.#record]
    const ip = record?.ips[0]
    if (pod === undefined || record === undefined || ip === undefined) return
    const probes = new ContainerProbes({
      target: {
        ip,
        container: spec,
        exec: (command, timeoutMs) => this.#parts.runtime.exec(record, run, command, timeoutMs),
      },
      wasReady: wasReady(pod, run),
      onChange: (kind, isHealthy, why) => {
        this.#parts.log.info('a probe changed its mind', { pod: pod.key, container: spec.name, kind, isHealthy, why })
        this.wake()
      },
      onFailure: (kind, why) => this.#tell('Unhealthy', describeProbeFailure(kind, spec.name, why)),
    })
    this.#probes.set(spec.name, probes)
    probes.start()
  }

  #dropProbes(container: string): void {
    this.#probes.get(container)?.stop()
    this.#probes.delete(container)
  }

  #release(): void {
    clearTimeout(this.#timer)
    for (const name of [...this.#probes.keys()]) this.#dropProbes(name)
    this.#watches.dropAll()
  }

  async #signal(containers: readonly string[], signal: 'SIGTERM' | 'SIGKILL'): Promise<void> {
    const record = this.#record
    if (record === undefined) return
    for (const container of containers) {
      const state = this.#states[container]?.state.kind
      const attempt = record.containers[container]?.attempt
      if (attempt === undefined || (state !== 'running' && state !== 'starting')) continue
      await this.#parts.runtime.signal(record, { container, attempt }, signal)
    }
  }

  /** When to try again; undefined where the API knows. An API that is away keeps no pod from going its way. */
  async #tellStatus(): Promise<number | undefined> {
    const pod = this.#pod
    if (pod === undefined) return undefined
    const view = this.#view(pod)
    if (this.#bar !== undefined) this.#tellBar(this.#bar, view)
    for (const name of Object.keys(view.containers)) {
      const backOff = backOffOf(view, name)
      if (backOff && backOff.delayMs > 0) this.#tell('BackOff', backOff.message)
    }
    const changed = changedStatus(pod.status, describeStatus(view))
    if (changed === undefined) return undefined
    try {
      await this.#parts.api.writeStatus(pod, changed)
    } catch (error) {
      this.#parts.log.warn('the status of a pod could not be told', { pod: pod.key, error: describeError(error) })
      return Date.now() + statusRetryMs
    }
    // What the API says of it comes by watch; until then the same is not written again.
    if (this.#pod === pod) this.#pod = { ...pod, status: { ...pod.status, ...changed } }
    return undefined
  }

  /** Once it is known for sure, and where it keeps a container from its start. */
  #tellBar({ reason, message }: Bar, view: PodView): void {
    const isWaiting = view.wanted.containers.some((name) => isHeldBack(view, name))
    if (isWaiting && reason !== 'NamespaceNotRead') this.#tell(reason, message)
  }

  #view(pod: PodSpec): PodView {
    return {
      pod,
      wanted: wantedOf(pod),
      bar: this.#bar,
      record: this.#record,
      containers: viewContainers(pod, this.#states, this.#probes, this.#refusals),
      hostIps: this.#parts.hostIps,
      trouble: this.#trouble,
      delay: this.#delay,
      nowMs: Date.now(),
    }
  }

  async #write(record: StoredPod): Promise<void> {
    await this.#parts.folders.write(record)
    this.#record = record
  }

  #sleepUntil(untilMs: number | undefined): void {
    if (untilMs === undefined || this.#isOver) return
    this.#timer = setTimeout(() => this.wake(), Math.max(1, untilMs - Date.now()))
    this.#timer.unref()
  }

  #tell(reason: PodEventReason, message: string): void {
    if (this.#pod !== undefined) this.#events.tell(this.#pod, reason, message)
  }

  #onTrouble(error: unknown, retryInMs: number): void {
    this.#trouble = describeError(error)
    if (isVolumeFailure(error)) this.#tell('FailedMount', this.#trouble)
    else this.#tellFailure(this.#trouble)
    this.#parts.metrics.countFailure()
    this.#parts.log.warn('a step of a pod failed and is tried again', {
      pod: this.#name,
      error,
      retryInMs: Math.round(retryInMs),
    })
  }

  #tellFailure(why: string): void {
    const failure = stepFailures[this.#step]
    if (failure !== undefined) this.#tell(failure.reason, `${failure.what}: ${why}`)
  }

  get #name(): string {
    return this.#pod?.key ?? `${this.#record?.namespace}/${this.#record?.name}`
  }
}
