import { isDeepStrictEqual } from 'node:util'
import { z } from 'zod'
import { formatTime } from '../../model/api-object.ts'
import type { Ip } from '../../model/ip.ts'
import type { Refusal } from './container-launch.ts'
import {
  type ContainerEnd,
  type ContainerState,
  isFinished,
  type PodRecord,
  restartDelayMs,
  type WantedPod,
} from './plan.ts'
import type { Denial } from './pod-permission.ts'
import type { PodSpec } from './pod-spec.ts'

/** The facts about a container that its status shows. */
export interface ContainerView {
  readonly state: ContainerState
  /** The state of the run before this one. */
  readonly previous: ContainerState
  readonly isStarted: boolean
  readonly isReady: boolean
  readonly refusal: Refusal | undefined
}

/** The reasons why the pod is not in the state that the API asks for. */
export interface PodProblems {
  /** Set while nothing new may start for the pod. */
  readonly denial?: Denial | undefined
  /** The error of the last step. */
  readonly failure?: string | undefined
  /** The slow plugin that the current step waits for. */
  readonly stall?: string | undefined
}

export interface PodView extends PodProblems {
  readonly pod: PodSpec
  readonly wanted: WantedPod
  readonly record: PodRecord | undefined
  readonly containers: Readonly<Record<string, ContainerView>>
  readonly hostIps: readonly Ip[]
  readonly nowMs: number
}

type Json = Readonly<Record<string, unknown>>

const conditionSchema = z.looseObject({
  type: z.string(),
  status: z.string(),
  lastTransitionTime: z.string().nullish(),
})
const statusSchema = z.looseObject({
  conditions: z.array(conditionSchema).nullish(),
  startTime: z.string().nullish(),
})

type Condition = z.output<typeof conditionSchema>

/** Builds the status fields that a node agent writes. Conditions of other writers stay unchanged. Pure. */
export function describeStatus(view: PodView): Json {
  const { pod, record, hostIps, nowMs } = view
  const before = statusSchema.catch({}).parse(pod.status)
  const ips = record?.ips ?? []
  const hostIp = hostIps[0]
  return {
    phase: phaseOf(view),
    startTime: before.startTime ?? formatTime(nowMs),
    ...(hostIp === undefined ? {} : { hostIP: hostIp, hostIPs: hostIps.map((ip) => ({ ip })) }),
    ...(ips.length === 0 ? {} : { podIP: ips[0], podIPs: ips.map((ip) => ({ ip })) }),
    conditions: describeConditions(view, before.conditions ?? []),
    ...(pod.spec.initContainers.length === 0
      ? {}
      : { initContainerStatuses: pod.spec.initContainers.map((each) => describeContainer(view, each, true)) }),
    containerStatuses: pod.spec.containers.map((each) => describeContainer(view, each, false)),
    ...(pod.spec.ephemeralContainers.length === 0
      ? {}
      : { ephemeralContainerStatuses: pod.spec.ephemeralContainers.map(describeRefused) }),
  }
}

/** A container that joined the pod by `kubectl debug`: nothing of it runs here. */
function describeRefused({ name, image }: PodSpec['spec']['ephemeralContainers'][number]): Json {
  const message = 'ephemeral containers are not supported: this node runs pods as processes'
  const state = { waiting: { reason: 'CreateContainerConfigError', message } }
  return { name, image, imageID: '', ready: false, restartCount: 0, state, lastState: {} }
}

/** Returns the delay of a container's restart and kubelet's message about it; undefined if the container does not wait for a restart. */
export function backOffOf(
  view: PodView,
  name: string,
): { readonly message: string; readonly delayMs: number } | undefined {
  const state = view.containers[name]?.state
  if (view.containers[name]?.refusal !== undefined || state?.kind !== 'exited' || !isBackingOff(state, view, name))
    return undefined
  const delayMs = restartDelayMs(view.record?.containers[name]?.level ?? 0)
  const { namespace, name: pod } = view.pod
  return { delayMs, message: `back-off ${delayMs / 1000}s restarting failed container=${name} pod=${pod}_${namespace}` }
}

/** Returns the status fields that differ from `before`; undefined if none does. */
export function changedStatus(before: Json, wanted: Json): Json | undefined {
  const changed = Object.entries(wanted).filter(([field, value]) => !isDeepStrictEqual(before[field], value))
  return changed.length === 0 ? undefined : Object.fromEntries(changed)
}

export function phaseOf({ pod, wanted, record, containers }: PodView): string {
  const states = Object.fromEntries(Object.entries(containers).map(([name, { state }]) => [name, state]))
  const own = wanted.containers.map((name) => states[name] ?? { kind: 'none' as const })
  const hasEnded = own.length > 0 && own.every(({ kind }) => kind === 'exited')
  const isLeaving = pod.deletion !== undefined && hasEnded
  if (isFinished({ pod: wanted, record, states }) || isLeaving) {
    const all = [...wanted.initContainers.map((name) => states[name]), ...own]
    const hasFailed = all.some((state) => state?.kind === 'exited' && state.exitCode !== 0)
    return hasFailed ? 'Failed' : 'Succeeded'
  }
  const hasBegun = wanted.containers.every((name) => {
    const view = containers[name]
    return (
      view !== undefined &&
      (view.state.kind === 'running' || view.state.kind === 'exited' || view.previous.kind === 'exited')
    )
  })
  return hasBegun ? 'Running' : 'Pending'
}

function describeConditions(view: PodView, before: readonly Condition[]): readonly Condition[] {
  const { pod, wanted, record, containers, nowMs } = view
  const problem = problemOf(view)
  const phase = phaseOf(view)
  const isOver = phase === 'Succeeded' || phase === 'Failed'
  const unready = wanted.containers.filter((name) => isOver || containers[name]?.isReady !== true)
  const isInitialized = wanted.initContainers.every((name) => {
    const state = containers[name]?.state
    return state?.kind === 'exited' && state.exitCode === 0
  })
  const gates = pod.spec.readinessGates.map(({ conditionType }) => conditionType)
  const closed = gates.filter((gate) => !before.some(({ type, status }) => type === gate && status === 'True'))
  const unreadyWhy = isOver
    ? { reason: phase === 'Succeeded' ? 'PodCompleted' : 'PodFailed' }
    : { reason: 'ContainersNotReady', message: `containers with unready status: [${unready.join(' ')}]` }
  const gateWhy = { reason: 'ReadinessGatesNotReady', message: `not true yet: ${closed.join(', ')}` }
  const own = [
    condition('PodScheduled', true),
    condition(
      'PodReadyToStartContainers',
      record?.sandbox === 'ready',
      problem === undefined ? {} : { message: problem },
    ),
    condition('Initialized', isInitialized, { reason: 'ContainersNotInitialized' }),
    condition('ContainersReady', unready.length === 0, unreadyWhy),
    condition('Ready', unready.length + closed.length === 0, unready.length > 0 ? unreadyWhy : gateWhy),
  ]
  const names = new Set(own.map(({ type }) => type))
  return [...before.filter(({ type }) => !names.has(type)), ...own.map((each) => keepTime(each, before, nowMs))]
}

function condition(type: string, holds: boolean, why: Json = {}): Condition {
  return { type, status: holds ? 'True' : 'False', ...(holds ? {} : why) }
}

function keepTime(next: Condition, before: readonly Condition[], nowMs: number): Condition {
  const old = before.find(({ type }) => type === next.type)
  const since = old?.status === next.status ? old.lastTransitionTime : undefined
  return { ...next, lastTransitionTime: since ?? formatTime(nowMs) }
}

function describeContainer(view: PodView, spec: { name: string; image: string }, isInit: boolean): Json {
  const { name, image } = spec
  const { record } = view
  const found = view.containers[name]
  const attempt = record?.containers[name]?.attempt ?? 0
  const state = found?.state ?? { kind: 'none' as const }
  const hasRun = state.kind !== 'none'
  const isReady = isInit ? state.kind === 'exited' && state.exitCode === 0 : found?.isReady === true
  const lastState = found === undefined ? {} : describePrevious(found, state, view, name)
  return {
    name,
    image,
    imageID: '',
    ready: isReady && phaseOf(view) === 'Running' ? true : isInit && isReady,
    started: state.kind === 'running' && found?.isStarted === true,
    restartCount: attempt,
    state: describeState(state, view, name),
    lastState,
    ...(hasRun && record ? { containerID: containerId(record.uid, name, attempt) } : {}),
  }
}

/** Returns the ID of one run of one container, which is never used again. */
export function containerId(uid: string, name: string, attempt: number): string {
  return `platnet://${uid}/${name}/${attempt}`
}

function describePrevious({ previous }: ContainerView, state: ContainerState, view: PodView, name: string): Json {
  const last = isBackingOff(state, view, name) ? state : previous
  return last.kind === 'exited' ? { terminated: describeEnd(last) } : {}
}

function describeState(state: ContainerState, view: PodView, name: string): Json {
  const refusal = view.containers[name]?.refusal ?? (isHeldBack(view, name) ? view.denial : undefined)
  if (refusal !== undefined) return { waiting: { reason: refusal.reason, message: refusal.message } }
  if (state.kind === 'running') return { running: { startedAt: formatTime(state.startedAtMs) } }
  const backOff = backOffOf(view, name)
  if (backOff !== undefined) return { waiting: { reason: 'CrashLoopBackOff', message: backOff.message } }
  if (state.kind === 'exited') return { terminated: describeEnd(state) }
  const message = problemOf(view)
  const isSandboxFailure = view.failure !== undefined && view.record?.sandbox !== 'ready'
  const reason = isSandboxFailure ? 'CreatePodSandboxError' : 'ContainerCreating'
  return { waiting: { reason, ...(message !== undefined && { message }) } }
}

/** Joins the failure of the last step and the stall of the current one. */
function problemOf({ failure, stall }: PodView): string | undefined {
  const parts = [failure, stall].filter((part) => part !== undefined)
  return parts.length === 0 ? undefined : parts.join('; ')
}

/** Tells whether a denial alone keeps the container from starting. */
export function isHeldBack(view: PodView, name: string): boolean {
  const state = view.containers[name]?.state ?? { kind: 'none' }
  return (
    view.denial !== undefined &&
    view.pod.deletion === undefined &&
    (state.kind === 'none' || isBackingOff(state, view, name))
  )
}

/** Tells whether the container has ended and will restart. */
function isBackingOff(state: ContainerState, { pod, wanted }: PodView, name: string): boolean {
  if (state.kind !== 'exited' || pod.deletion !== undefined) return false
  const isInit = wanted.initContainers.includes(name)
  const policy = isInit && wanted.restartPolicy === 'Always' ? 'OnFailure' : wanted.restartPolicy
  return policy === 'Always' || (policy === 'OnFailure' && state.exitCode !== 0)
}

function describeEnd(end: ContainerEnd): Json {
  const { exitCode, startedAtMs, finishedAtMs } = end
  const signal = exitCode !== undefined && exitCode > 128 ? { signal: exitCode - 128 } : {}
  return {
    exitCode: exitCode ?? 137,
    reason: reasonOf(end),
    ...signal,
    startedAt: formatTime(startedAtMs),
    finishedAt: formatTime(finishedAtMs),
  }
}

/** Returns kubelet's reason. */
function reasonOf({ exitCode, isOutOfMemory }: ContainerEnd): string {
  if (exitCode === undefined) return 'ContainerStatusUnknown'
  if (exitCode === 0) return 'Completed'
  return isOutOfMemory === true ? 'OOMKilled' : 'Error'
}
