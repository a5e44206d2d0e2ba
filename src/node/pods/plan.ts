import type { Ip } from '../../model/ip.ts'

/** What of a container's run is known from its files and processes. */
export type ContainerState =
  | { readonly kind: 'none' }
  /** Its shim was started and has not told the program's pid yet. */
  | { readonly kind: 'starting' }
  | { readonly kind: 'running'; readonly startedAtMs: number }
  | ContainerEnd

export interface ContainerEnd {
  readonly kind: 'exited'
  /** Undefined where nobody is left who saw it end. */
  readonly exitCode: number | undefined
  readonly startedAtMs: number
  readonly finishedAtMs: number
  /** The kernel killed it, or something in it, at its memory limit. */
  readonly isOutOfMemory?: boolean
}

/** The run that is going on, or was the last one, and how dear failing has become. */
export interface ContainerRecord {
  /** 0 for the first run. */
  readonly attempt: number
  /** Failures in a row, as far as they count for the delay before the next run. */
  readonly level: number
  /** When this run was told to end although the pod goes on. */
  readonly stopAtMs?: number
  /** How this run ended, kept where the runtime may forget it together with the sandbox. */
  readonly end?: ContainerEnd
}

/** What is written down about a pod, so that whoever comes after a crash goes on where it stood. */
export interface PodRecord {
  readonly uid: string
  readonly namespace: string
  readonly name: string
  /** `making` is written before anything is made, `removing` before anything is taken away. */
  readonly sandbox: 'none' | 'making' | 'ready' | 'removing'
  readonly ips: readonly Ip[]
  readonly containers: Readonly<Record<string, ContainerRecord>>
  /** When all containers were told to end, and how long they have. */
  readonly stop?: { readonly atMs: number; readonly graceSeconds: number }
}

/** The part of a Pod that decides what happens to it. */
export interface WantedPod {
  readonly restartPolicy: 'Always' | 'OnFailure' | 'Never'
  readonly graceSeconds: number
  readonly initContainers: readonly string[]
  readonly containers: readonly string[]
  readonly deletion: { readonly atMs: number; readonly graceSeconds: number } | undefined
}

export interface PodSituation {
  /** Undefined when the API has no such pod any more. */
  readonly pod: WantedPod | undefined
  readonly record: PodRecord | undefined
  readonly states: Readonly<Record<string, ContainerState>>
  /** Containers that cannot be run here at all. */
  readonly refused: ReadonlySet<string>
  /** Nothing new is begun for the pod: it may not have containers here. Those that run go on. */
  readonly isDenied: boolean
  /** Containers whose liveness or startup probe has failed often enough. */
  readonly unhealthy: ReadonlySet<string>
  /** No traffic is sent to the pod any more: every plane of this node has applied that. */
  readonly isOutOfRules: boolean
  readonly nowMs: number
}

export type PodStep =
  | { readonly do: 'make-sandbox' }
  | { readonly do: 'start'; readonly container: string; readonly attempt: number; readonly level: number }
  /** SIGTERM to one container that is to be started again, then SIGKILL. */
  | { readonly do: 'stop-container'; readonly container: string }
  | { readonly do: 'kill-container'; readonly container: string }
  /** SIGTERM to all. */
  | { readonly do: 'stop'; readonly graceSeconds: number }
  /** SIGKILL to all. */
  | { readonly do: 'kill' }
  | { readonly do: 'remove-sandbox' }
  | { readonly do: 'delete-object' }
  /** Nothing is left but what is written down. */
  | { readonly do: 'forget' }
  /** Look again when something changes, at the latest then. */
  | { readonly do: 'wait'; readonly untilMs?: number }

const firstBackoffMs = 10_000
const maxBackoffMs = 300_000
/** A run that long was no failure to start. */
const healthyRunMs = 600_000
/**
 * A pod whose endpoint nobody takes out of the rules ends all the same. Long enough for controllers of another machine to take over from ones that died: they wait for a Lease of 15 s, look
 * every 2 s, and then write.
 */
const outOfRulesDeadlineMs = 20_000
const rulesPollMs = 20
const processPollMs = 1000
/** What a pod gets that was taken from the API without a grace. */
const forcedGraceSeconds = 1

/** The one next step for a pod. Pure: after a crash the same situation gives the same step again, so every step may be repeated. */
export function planPod(situation: PodSituation): PodStep {
  const { pod, record } = situation
  if (pod === undefined && record === undefined) return { do: 'forget' }
  if (pod === undefined || pod.deletion !== undefined || record?.stop !== undefined) return planEnd(situation)
  if (isFinished(situation)) return planFinished(situation)
  if (record?.sandbox === 'removing') return { do: 'remove-sandbox' }
  if (record?.sandbox !== 'ready') return situation.isDenied ? { do: 'wait' } : { do: 'make-sandbox' }
  return planContainers(situation, pod)
}

/** Every container has ended for good, or one that had to come first failed. */
export function isFinished({ pod, record, states }: Pick<PodSituation, 'pod' | 'record' | 'states'>): boolean {
  if (pod === undefined || record === undefined) return false
  const hasFailedInit = pod.initContainers.some((name) => {
    const state = stateOf(states, name)
    return state.kind === 'exited' && state.exitCode !== 0 && pod.restartPolicy === 'Never'
  })
  if (hasFailedInit) return true
  return pod.containers.every((name) => {
    const state = stateOf(states, name)
    return state.kind === 'exited' && !isRestarted(pod.restartPolicy, state.exitCode)
  })
}

/** How long after its end a container is started again: at once for the first time, then 10 s doubling to 5 min. */
export function restartDelayMs(level: number): number {
  return level === 0 ? 0 : Math.min(maxBackoffMs, firstBackoffMs * 2 ** Math.min(level - 1, 10))
}

/** A pod that has done its work keeps its name and logs, and gives its address back. */
function planFinished({ record }: PodSituation): PodStep {
  return record === undefined || record.sandbox === 'none' ? { do: 'wait' } : { do: 'remove-sandbox' }
}

function planContainers(situation: PodSituation, pod: WantedPod): PodStep {
  const current = pod.initContainers.find((name) => !hasSucceeded(stateOf(situation.states, name)))
  if (current !== undefined)
    return planContainer(situation, current, pod.restartPolicy === 'Never' ? 'Never' : 'OnFailure')
  const steps = pod.containers.map((name) => planContainer(situation, name, pod.restartPolicy))
  return steps.find((step) => step.do !== 'wait') ?? soonest(steps)
}

function planContainer(situation: PodSituation, name: string, policy: WantedPod['restartPolicy']): PodStep {
  const { record, states, refused, isDenied, nowMs } = situation
  if (refused.has(name)) return { do: 'wait' }
  const known = record?.containers[name]
  const state = stateOf(states, name)
  if (isDenied && (state.kind === 'none' || state.kind === 'exited')) return { do: 'wait' }
  if (state.kind === 'none') {
    const attempt = known === undefined ? 0 : known.attempt
    return { do: 'start', container: name, attempt, level: known?.level ?? 0 }
  }
  if (state.kind !== 'exited') return planRunning(situation, name)
  if (!isRestarted(policy, state.exitCode)) return { do: 'wait' }
  const level = state.finishedAtMs - state.startedAtMs >= healthyRunMs ? 0 : (known?.level ?? 0)
  const dueMs = state.finishedAtMs + restartDelayMs(level)
  if (nowMs < dueMs) return { do: 'wait', untilMs: dueMs }
  return { do: 'start', container: name, attempt: (known?.attempt ?? 0) + 1, level: level + 1 }
}

function planRunning({ pod, record, unhealthy, nowMs }: PodSituation, name: string): PodStep {
  const poll: PodStep = { do: 'wait', untilMs: nowMs + processPollMs }
  const stopAtMs = record?.containers[name]?.stopAtMs
  if (stopAtMs !== undefined) {
    const killAtMs = stopAtMs + (pod?.graceSeconds ?? 0) * 1000
    return nowMs >= killAtMs ? { do: 'kill-container', container: name } : poll
  }
  return unhealthy.has(name) ? { do: 'stop-container', container: name } : poll
}

/** Out of the rules, SIGTERM, grace, SIGKILL, network, namespace, object: each only after the one before. */
function planEnd(situation: PodSituation): PodStep {
  const { pod, record, states } = situation
  const isRunning = Object.values(states).some(({ kind }) => kind === 'running' || kind === 'starting')
  if (record !== undefined && isRunning) return planStop(situation, record)
  if (record !== undefined && record.sandbox !== 'none') return { do: 'remove-sandbox' }
  if (pod?.deletion !== undefined) return { do: 'delete-object' }
  // A pod whose containers were told to end can only be on its way out: its object goes before what is written down.
  return { do: 'forget' }
}

function planStop({ pod, isOutOfRules, nowMs }: PodSituation, { stop }: PodRecord): PodStep {
  const deletion = pod?.deletion
  if (stop === undefined) {
    const mayWait = deletion !== undefined && deletion.graceSeconds > 0 && nowMs < deletion.atMs + outOfRulesDeadlineMs
    if (mayWait && !isOutOfRules) return { do: 'wait', untilMs: nowMs + rulesPollMs }
    return { do: 'stop', graceSeconds: deletion?.graceSeconds ?? forcedGraceSeconds }
  }
  // A later request may shorten the grace.
  const graceSeconds = Math.min(stop.graceSeconds, deletion?.graceSeconds ?? forcedGraceSeconds)
  const killAtMs = stop.atMs + graceSeconds * 1000
  return nowMs >= killAtMs ? { do: 'kill' } : { do: 'wait', untilMs: Math.min(killAtMs, nowMs + processPollMs) }
}

function isRestarted(policy: WantedPod['restartPolicy'], exitCode: number | undefined): boolean {
  return policy === 'Always' || (policy === 'OnFailure' && exitCode !== 0)
}

function hasSucceeded(state: ContainerState): boolean {
  return state.kind === 'exited' && state.exitCode === 0
}

function stateOf(states: PodSituation['states'], name: string): ContainerState {
  return states[name] ?? { kind: 'none' }
}

function soonest(steps: readonly PodStep[]): PodStep {
  const times = steps.flatMap((step) => (step.do === 'wait' && step.untilMs !== undefined ? [step.untilMs] : []))
  return times.length === 0 ? { do: 'wait' } : { do: 'wait', untilMs: Math.min(...times) }
}

/** The earliest of these; undefined where there is none. */
export function soonerOf(...times: readonly (number | undefined)[]): number | undefined {
  const known = times.filter((time) => time !== undefined)
  return known.length === 0 ? undefined : Math.min(...known)
}
