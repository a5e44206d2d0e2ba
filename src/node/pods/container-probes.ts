import { setTimeout as sleep } from 'node:timers/promises'
import type { ProbeSpec } from './pod-spec.ts'
import { judge, type ProbeKind, type ProbeTarget, type ProbeVerdict, runProbe } from './probes.ts'

export interface ContainerProbesParts {
  readonly target: ProbeTarget
  /** The run was ready when the earlier agent ended; it stays ready until a probe fails. */
  readonly wasReady: boolean
  /** Called when the verdict of a kind of probe changes. */
  readonly onChange: (kind: ProbeKind, isHealthy: boolean, why: string | undefined) => void
  /** Called for each failed probe, also if the verdict stays. */
  readonly onFailure: (kind: ProbeKind, why: string) => void
}

/** Runs the probes of one run of one container. It starts as not ready and alive; both probes wait for the startup probe. */
export class ContainerProbes {
  readonly #parts: ContainerProbesParts
  readonly #stopping = new AbortController()
  #isStarted: boolean
  #isReady: boolean
  #isUnhealthy = false

  constructor(parts: ContainerProbesParts) {
    const { startupProbe, readinessProbe } = parts.target.container
    this.#parts = parts
    this.#isStarted = startupProbe === undefined || parts.wasReady
    this.#isReady = readinessProbe === undefined || parts.wasReady
  }

  start(): void {
    void this.#run()
  }

  stop(): void {
    this.#stopping.abort()
  }

  /** The field `started` of the container's status. */
  get isStarted(): boolean {
    return this.#isStarted
  }

  get isReady(): boolean {
    return this.#isStarted && this.#isReady
  }

  /** True if the container must restart. */
  get isUnhealthy(): boolean {
    return this.#isUnhealthy
  }

  async #run(): Promise<void> {
    const { startupProbe, livenessProbe, readinessProbe } = this.#parts.target.container
    if (startupProbe !== undefined && !this.#isStarted) {
      await this.#follow('startup', startupProbe, { isHealthy: false, successes: 0, failures: 0 })
    }
    if (livenessProbe !== undefined) void this.#follow('liveness', livenessProbe, verdictOf(true))
    if (readinessProbe !== undefined) void this.#follow('readiness', readinessProbe, verdictOf(this.#isReady))
  }

  /** Probes until `stop`. The startup probe ends with its first success, or when it fails at its threshold. */
  async #follow(kind: ProbeKind, probe: ProbeSpec, initial: ProbeVerdict): Promise<void> {
    const { signal } = this.#stopping
    let verdict = initial
    await pause(probe.initialDelaySeconds * 1000, signal)
    while (!signal.aborted) {
      const failure = await runProbe(probe, this.#parts.target)
      if (signal.aborted) return
      if (failure !== undefined) this.#parts.onFailure(kind, failure)
      const next = judge(verdict, failure, probe)
      const hasFailedToStart = kind === 'startup' && next.failures >= probe.failureThreshold
      if (next.isHealthy !== verdict.isHealthy || hasFailedToStart) this.#apply(kind, next.isHealthy, failure)
      verdict = next
      if (kind === 'startup' && (next.isHealthy || hasFailedToStart)) return
      await pause(probe.periodSeconds * 1000, signal)
    }
  }

  #apply(kind: ProbeKind, isHealthy: boolean, why: string | undefined): void {
    if (kind === 'startup') this.#isStarted = isHealthy
    if (kind === 'readiness') this.#isReady = isHealthy
    else this.#isUnhealthy = !isHealthy
    this.#parts.onChange(kind, isHealthy, why)
  }
}

/** Builds the message of the Event. */
export function describeProbeFailure(kind: ProbeKind, container: string, why: string): string {
  return `${kind.slice(0, 1).toUpperCase()}${kind.slice(1)} probe of ${container} failed: ${why}`
}

function verdictOf(isHealthy: boolean): ProbeVerdict {
  return { isHealthy, successes: 0, failures: 0 }
}

async function pause(delayMs: number, signal: AbortSignal): Promise<void> {
  await sleep(delayMs, undefined, { signal, ref: false }).catch(() => {})
}
