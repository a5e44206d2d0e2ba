import type { Ip } from '../../model/ip.ts'

/** The state of one run of a container, as its files and processes show it. */
export type ContainerState =
  | { readonly kind: 'none' }
  /** The shim has started; the program has not. */
  | { readonly kind: 'starting' }
  | { readonly kind: 'running'; readonly startedAtMs: number }
  | ContainerEnd

export interface ContainerEnd {
  readonly kind: 'exited'
  /** Undefined if no process was left to record the exit code. */
  readonly exitCode: number | undefined
  readonly startedAtMs: number
  readonly finishedAtMs: number
  /** The kernel killed the program, or a process of it, at the memory limit of the container. */
  readonly isOutOfMemory?: boolean
}

/** The current or last run of a container. */
export interface ContainerRecord {
  /** The number of the run, from 0. */
  readonly attempt: number
  /** The number of restarts that count for the delay before the next run (`restartDelayMs`). */
  readonly level: number
  /** Time of the SIGTERM to this run alone (ms since 1970); the pod goes on. */
  readonly stopAtMs?: number
  /** How this run ended; stored because a runtime may forget it together with the sandbox. */
  readonly end?: ContainerEnd
}

/** The stored progress of a pod, with which an agent continues after a crash. */
export interface PodRecord {
  readonly uid: string
  readonly namespace: string
  readonly name: string
  /** `making` is stored before anything is created, `removing` before anything is removed. */
  readonly sandbox: 'none' | 'making' | 'ready' | 'removing'
  readonly ips: readonly Ip[]
  readonly containers: Readonly<Record<string, ContainerRecord>>
  /** Seconds that the containers have between SIGTERM and SIGKILL where no agent ends them. Records of earlier versions lack it. */
  readonly graceSeconds?: number
  /** Time of the SIGTERM to all containers (ms since 1970), and their grace period. */
  readonly stop?: { readonly atMs: number; readonly graceSeconds: number }
}

/** The part of a Pod that decides its next step. */
export interface WantedPod {
  readonly restartPolicy: 'Always' | 'OnFailure' | 'Never'
  readonly graceSeconds: number
  readonly initContainers: readonly string[]
  readonly containers: readonly string[]
  readonly deletion: { readonly atMs: number; readonly graceSeconds: number } | undefined
}

export interface PodSituation {
  /** Undefined if the API does not have the pod any more. */
  readonly pod: WantedPod | undefined
  readonly record: PodRecord | undefined
  readonly states: Readonly<Record<string, ContainerState>>
  /** Containers that this node cannot run at all. */
  readonly refused: ReadonlySet<string>
  /** No container may start for the pod now. Running containers go on. */
  readonly isDenied: boolean
  /** Containers whose liveness or startup probe failed as often as its threshold says. */
  readonly unhealthy: ReadonlySet<string>
  /** Every plane of this node has applied that no traffic goes to the pod. */
  readonly isOutOfRules: boolean
  readonly nowMs: number
}

export type PodStep =
  | { readonly do: 'make-sandbox' }
  | { readonly do: 'start'; readonly container: string; readonly attempt: number; readonly level: number }
  /** SIGTERM to one container, which restarts after its end. */
  | { readonly do: 'stop-container'; readonly container: string }
  /** SIGKILL to that container after the grace period. */
  | { readonly do: 'kill-container'; readonly container: string }
  /** SIGTERM to all containers. */
  | { readonly do: 'stop'; readonly graceSeconds: number }
  /** SIGKILL to all containers. */
  | { readonly do: 'kill' }
  | { readonly do: 'remove-sandbox' }
  | { readonly do: 'delete-object' }
  /** Removes the stored record, the last thing that is left of the pod. */
  | { readonly do: 'forget' }
  /** Nothing to do until something changes, at the latest until `untilMs` (ms since 1970). */
  | { readonly do: 'wait'; readonly untilMs?: number }

const firstBackoffMs = 10_000
const maxBackoffMs = 300_000
/** A run of this length resets the delay of the next restart. */
const healthyRunMs = 600_000
/**
 * A pod ends after this time also if its endpoint is still in the rules. Controllers of another machine need less to take over from dead ones: a
 * Lease of 15 s, a check every 2 s, and the write.
 */
const outOfRulesDeadlineMs = 20_000
const rulesPollMs = 20
const processPollMs = 1000
/** The grace period of a pod whose object disappeared without a deletion. */
const forcedGraceSeconds = 1

/** Plans the next step of a pod. Pure: the same situation gives the same step after a crash, so every step must be repeatable. */
export function planPod(situation: PodSituation): PodStep {
  const { pod, record } = situation
  if (pod === undefined && record === undefined) return { do: 'forget' }
  if (pod === undefined || pod.deletion !== undefined || record?.stop !== undefined) return planEnd(situation)
  if (isFinished(situation)) return planFinished(situation)
  if (record?.sandbox === 'removing') return { do: 'remove-sandbox' }
  if (record?.sandbox !== 'ready') return situation.isDenied ? { do: 'wait' } : { do: 'make-sandbox' }
  return planContainers(situation, pod)
}

/** Tells whether every container has ended and does not restart, or an init container failed and does not restart. */
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

/** Returns the time from the end of a container to its restart: 0 for the first restart, then 10 s, doubled up to 5 min. */
export function restartDelayMs(level: number): number {
  return level === 0 ? 0 : Math.min(maxBackoffMs, firstBackoffMs * 2 ** Math.min(level - 1, 10))
}

/** A finished pod keeps its record and its logs; its network is removed, which releases the address. */
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

/** Plans the end in this order: out of the rules, SIGTERM, grace period, SIGKILL, network, namespace, object. */
function planEnd(situation: PodSituation): PodStep {
  const { pod, record, states } = situation
  const isRunning = Object.values(states).some(({ kind }) => kind === 'running' || kind === 'starting')
  if (record !== undefined && isRunning) return planStop(situation, record)
  if (record !== undefined && record.sandbox !== 'none') return { do: 'remove-sandbox' }
  if (pod?.deletion !== undefined) return { do: 'delete-object' }
  // The record goes last. A record with `stop` and without an object belongs to a pod that is already deleted.
  return { do: 'forget' }
}

function planStop({ pod, isOutOfRules, nowMs }: PodSituation, { stop }: PodRecord): PodStep {
  const deletion = pod?.deletion
  if (stop === undefined) {
    const mayWait = deletion !== undefined && deletion.graceSeconds > 0 && nowMs < deletion.atMs + outOfRulesDeadlineMs
    if (mayWait && !isOutOfRules) return { do: 'wait', untilMs: nowMs + rulesPollMs }
    return { do: 'stop', graceSeconds: deletion?.graceSeconds ?? forcedGraceSeconds }
  }
  // A later deletion request may shorten the grace period.
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

/** Returns the earliest of the times; undefined if there is none. */
export function soonerOf(...times: readonly (number | undefined)[]): number | undefined {
  const known = times.filter((time) => time !== undefined)
  return known.length === 0 ? undefined : Math.min(...known)
}
