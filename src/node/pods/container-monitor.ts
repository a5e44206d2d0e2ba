import type { Logger } from '../../observe/index.ts'
import { ContainerProbes, describeProbeFailure } from './container-probes.ts'
import type { LocalPod } from './local-pod.ts'
import type { ContainerState } from './plan.ts'
import type { PodFolders } from './pod-folders.ts'
import type { ContainerSpec } from './pod-spec.ts'
import { findContainer, wasReady } from './read-pod.ts'
import { RunWatches } from './run-watches.ts'
import type { ContainerRun, PodRuntime } from './runtime.ts'
import { none, type Observed } from './view-containers.ts'

export interface ContainerMonitorParts {
  readonly runtime: Pick<PodRuntime, 'state' | 'exec'>
  readonly folders: Pick<PodFolders, 'runFolder'>
  readonly log: Logger
  /** Called when a probe or the files of a run may have changed the state of a container. */
  readonly onChange: () => void
}

/** Observes the containers of one pod: their states, their probes and the folders of their runs. */
export class ContainerMonitor {
  readonly #parts: ContainerMonitorParts
  readonly #pod: LocalPod
  readonly #watches: RunWatches
  readonly #probes = new Map<string, ContainerProbes>()
  #observed: Readonly<Record<string, Observed>> = {}

  constructor(parts: ContainerMonitorParts, pod: LocalPod) {
    this.#parts = parts
    this.#pod = pod
    this.#watches = new RunWatches(parts.onChange)
  }

  /** The result of the last `observe`, by container. */
  get observed(): Readonly<Record<string, Observed>> {
    return this.#observed
  }

  /** The probes of the running containers. */
  get probes(): ReadonlyMap<string, Pick<ContainerProbes, 'isStarted' | 'isReady' | 'isUnhealthy'>> {
    return this.#probes
  }

  /** Reads the state of every container that the record names, and starts or stops its probes and its watch. */
  async observe(): Promise<void> {
    const { record } = this.#pod
    if (record === undefined) return
    const { runtime } = this.#parts
    const nowMs = Date.now()
    const observed: Record<string, Observed> = {}
    for (const [container, { attempt, end }] of Object.entries(record.containers)) {
      const state = end ?? (await runtime.state(record, { container, attempt }, nowMs))
      const previous = attempt === 0 ? none : await runtime.state(record, { container, attempt: attempt - 1 }, nowMs)
      observed[container] = { state, previous }
      this.#follow({ container, attempt }, state)
    }
    this.#observed = observed
  }

  stopProbes(container: string): void {
    this.#probes.get(container)?.stop()
    this.#probes.delete(container)
  }

  /** Ends all probes and watches. The containers go on. */
  stop(): void {
    for (const name of [...this.#probes.keys()]) this.stopProbes(name)
    this.#watches.dropAll()
  }

  /** Probes run while the container runs; the watch lasts from the start of the shim to the end of the run. */
  #follow(run: ContainerRun, state: ContainerState): void {
    const { record, object } = this.#pod
    const { container } = run
    const isActive = state.kind === 'running' || state.kind === 'starting'
    if (isActive && record !== undefined) this.#watches.watch(container, this.#parts.folders.runFolder(record.uid, run))
    else this.#watches.drop(container)
    if (state.kind !== 'running') this.stopProbes(container)
    const spec = object && findContainer(object, container)
    if (state.kind === 'running' && spec !== undefined && !this.#probes.has(container)) this.#startProbes(spec, run)
  }

  #startProbes(spec: ContainerSpec, run: ContainerRun): void {
    const { object, record } = this.#pod
    const ip = record?.ips[0]
    if (object === undefined || record === undefined || ip === undefined) return
    const { runtime, log, onChange } = this.#parts
    const probes = new ContainerProbes({
      target: { ip, container: spec, exec: (command, timeoutMs) => runtime.exec(record, run, command, timeoutMs) },
      wasReady: wasReady(object, run),
      onChange: (kind, isHealthy, why) => {
        log.info('the verdict of a probe changed', { pod: object.key, container: spec.name, kind, isHealthy, why })
        onChange()
      },
      onFailure: (kind, why) => this.#pod.recordEvent('Unhealthy', describeProbeFailure(kind, spec.name, why)),
    })
    this.#probes.set(spec.name, probes)
    probes.start()
  }
}
