import { setTimeout as sleep } from 'node:timers/promises'
import type { Ip } from '../../model/ip.ts'
import type { Logger } from '../../observe/index.ts'
import type { StallReason } from '../cni/index.ts'
import { planLaunch, type Refusal } from './container-launch.ts'
import type { ContainerMonitor } from './container-monitor.ts'
import type { LocalPod } from './local-pod.ts'
import type { PodsMetrics } from './metrics.ts'
import { type NodeFacts, podFactsOf } from './node-facts.ts'
import type { PodStep } from './plan.ts'
import type { PodApi } from './pod-api.ts'
import type { PodFiles, PodFolders, StoredPod } from './pod-folders.ts'
import type { PodSpec } from './pod-spec.ts'
import { findContainer, newRecord, withEnds } from './read-pod.ts'
import type { PodRuntime } from './runtime.ts'
import type { SandboxSemaphore } from './sandbox-semaphore.ts'
import type { VolumeKeeper } from './volumes/volume-keeper.ts'

export interface StepExecutorParts {
  readonly node: NodeFacts
  readonly runtime: PodRuntime
  readonly folders: Pick<PodFolders, 'writeFiles'>
  readonly api: Pick<PodApi, 'remove'>
  readonly volumes: Pick<VolumeKeeper, 'make' | 'drop'>
  readonly semaphore: SandboxSemaphore
  /** Returns the texts of `resolv.conf` and `hosts` for the pod with these addresses. */
  readonly files: (pod: PodSpec, ips: readonly Ip[]) => Promise<PodFiles>
  readonly metrics: PodsMetrics
  readonly log: Logger
}

const afterKillMs = 20

/** Carries out the steps of one pod. Each step is stored before it changes the node, so that it can be repeated after a crash. */
export class StepExecutor {
  readonly #parts: StepExecutorParts
  readonly #pod: LocalPod
  readonly #containers: ContainerMonitor
  readonly #onStall: (stallReason: StallReason) => Promise<void>
  readonly #refusals = new Map<string, Refusal>()
  /** An earlier agent may have ended after it stored the end of a container and before it sent the signal. */
  #mustRepeatSignals: boolean

  /** `onStall` is called while the network of the pod takes long, once with each reason. */
  constructor(
    parts: StepExecutorParts,
    pod: LocalPod,
    containers: ContainerMonitor,
    onStall: (stallReason: StallReason) => Promise<void>,
  ) {
    this.#parts = parts
    this.#pod = pod
    this.#containers = containers
    this.#onStall = onStall
    this.#mustRepeatSignals = pod.record !== undefined
  }

  /** The containers that cannot run on this node, with the reasons. */
  get refusals(): ReadonlyMap<string, Refusal> {
    return this.#refusals
  }

  /** Resolves when the step is done. Throws the error of the API, the runtime or the volumes; the step can be repeated then. */
  async execute(step: Exclude<PodStep, { do: 'wait' }>): Promise<void> {
    const container = 'container' in step ? { container: step.container } : {}
    this.#parts.log.debug('pod step', { pod: this.#pod.key, step: step.do, ...container })
    if (step.do === 'make-sandbox') return this.#withSlot(() => this.#makeSandbox())
    if (step.do === 'start') return this.#start(step)
    if (step.do === 'stop-container') return this.#stopContainer(step.container)
    if (step.do === 'kill-container') return this.#kill([step.container])
    if (step.do === 'stop') return this.#stop(step.graceSeconds)
    if (step.do === 'kill') return this.#kill(Object.keys(this.#containers.observed))
    if (step.do === 'remove-sandbox') return this.#withSlot(() => this.#removeSandbox())
    if (step.do === 'delete-object') return this.#deleteObject()
    return this.#forget()
  }

  /** Sends SIGTERM to the containers that the record of an earlier agent says are ending. Does nothing after the first call. */
  async repeatSignals(): Promise<void> {
    const { record } = this.#pod
    if (!this.#mustRepeatSignals || record === undefined) return
    this.#mustRepeatSignals = false
    const names = Object.keys(this.#containers.observed)
    const ending = record.stop ? names : names.filter((name) => record.containers[name]?.stopAtMs !== undefined)
    await this.#signal(ending, 'SIGTERM')
  }

  async #withSlot(work: () => Promise<void>): Promise<void> {
    const { runtime, semaphore } = this.#parts
    const stallReason = (): StallReason | undefined => this.#pod.record && runtime.stallReasonOf(this.#pod.record)
    await semaphore.run({ pod: this.#pod.key, stallReason, onStall: this.#onStall }, work)
  }

  async #makeSandbox(): Promise<void> {
    const { object } = this.#pod
    if (object === undefined) return
    const { runtime, node, folders, files, metrics, log } = this.#parts
    const startedMs = performance.now()
    const record = this.#pod.record ?? newRecord(object, runtime.engineSocket, node.dialect)
    await this.#pod.writeRecord({ ...record, sandbox: 'making', ips: [] })
    const ips = await runtime.makeSandbox(record)
    await folders.writeFiles(object.uid, await files(object, ips))
    await this.#pod.writeRecord({ ...record, sandbox: 'ready', ips })
    metrics.observeSandbox((performance.now() - startedMs) / 1000)
    log.info('pod has its network', { pod: object.key, ips: ips.join() })
  }

  async #removeSandbox(): Promise<void> {
    const { record } = this.#pod
    if (record === undefined) return
    const containers = withEnds(record.containers, this.#containers.observed)
    await this.#pod.writeRecord({ ...record, sandbox: 'removing', containers })
    await this.#parts.runtime.removeSandbox(record)
    await this.#parts.volumes.drop(record.uid)
    await this.#pod.writeRecord({ ...record, containers, sandbox: 'none', ips: [] })
  }

  async #start({ container, attempt, level }: Extract<PodStep, { do: 'start' }>): Promise<void> {
    const { object, record } = this.#pod
    const spec = object && findContainer(object, container)
    if (object === undefined || record === undefined || spec === undefined) return
    const { node, runtime, volumes, metrics, log } = this.#parts
    const facts = podFactsOf(node, record.ips, runtime.engineSocket !== undefined)
    const decision = planLaunch(object, spec, facts, node.dialect)
    if (decision.kind === 'refused') return this.#refuse(container, decision.refusal)
    await volumes.make(object)
    this.#containers.stopProbes(container)
    await this.#writeContainer(record, container, { attempt, level })
    const problems = await runtime.start(object, record, { container, attempt }, decision.launch)
    for (const problem of problems) log.warn(problem, { pod: object.key, container })
    metrics.countStart(attempt > 0)
    this.#pod.recordEvent('Started', `Started container ${container}`)
  }

  #refuse(container: string, refusal: Refusal): void {
    this.#refusals.set(container, refusal)
    this.#parts.log.warn('this node cannot run a container', { pod: this.#pod.key, container, ...refusal })
    this.#pod.recordEvent('Failed', `Error: ${refusal.reason}: ${refusal.message}`)
  }

  async #stopContainer(container: string): Promise<void> {
    const { record } = this.#pod
    const known = record?.containers[container]
    if (record === undefined || known === undefined) return
    this.#parts.log.warn('a container is restarted because its probe failed', { pod: this.#pod.key, container })
    const message = `Container ${container} failed its liveness or startup probe, will be restarted`
    this.#pod.recordEvent('Killing', message)
    this.#containers.stopProbes(container)
    await this.#writeContainer(record, container, { ...known, stopAtMs: Date.now() })
    await this.#signal([container], 'SIGTERM')
  }

  async #writeContainer(record: StoredPod, name: string, container: StoredPod['containers'][string]): Promise<void> {
    await this.#pod.writeRecord({ ...record, containers: { ...record.containers, [name]: container } })
  }

  async #stop(graceSeconds: number): Promise<void> {
    const { record } = this.#pod
    if (record === undefined) return
    await this.#pod.writeRecord({ ...record, stop: { atMs: Date.now(), graceSeconds } })
    const { observed } = this.#containers
    for (const [name, { state }] of Object.entries(observed))
      if (state.kind === 'running') this.#pod.recordEvent('Killing', `Stopping container ${name}`)
    await this.#signal(Object.keys(observed), 'SIGTERM')
  }

  async #kill(containers: readonly string[]): Promise<void> {
    await this.#signal(containers, 'SIGKILL')
    await sleep(afterKillMs)
  }

  async #signal(containers: readonly string[], signal: 'SIGTERM' | 'SIGKILL'): Promise<void> {
    const { record } = this.#pod
    if (record === undefined) return
    for (const container of containers) {
      const state = this.#containers.observed[container]?.state.kind
      const attempt = record.containers[container]?.attempt
      if (attempt === undefined || (state !== 'running' && state !== 'starting')) continue
      await this.#parts.runtime.signal(record, { container, attempt }, signal)
    }
  }

  async #deleteObject(): Promise<void> {
    const { object } = this.#pod
    if (object !== undefined) await this.#parts.api.remove(object)
    this.#pod.object = undefined
  }

  async #forget(): Promise<void> {
    const { uid } = this.#pod
    if (uid === undefined) return
    await this.#parts.volumes.drop(uid)
    this.#pod.removeRecord()
  }
}
