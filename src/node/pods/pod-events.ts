import type { EventRecorder } from '../../client/index.ts'
import type { PodStep } from './plan.ts'
import type { DenialReason } from './pod-permission.ts'

/** The pod that an Event is about. */
export interface PodIdentity {
  readonly namespace: string
  readonly name: string
  readonly uid: string
}

/** The reasons of kubelet, which users know and search for, and those of denials. */
export type PodEventReason =
  | Exclude<DenialReason, 'NamespaceNotRead'>
  | 'Started'
  | 'Killing'
  | 'Failed'
  | 'BackOff'
  | 'Unhealthy'
  | 'FailedCreatePodSandBox'
  | 'FailedKillPod'
  | 'FailedMount'
  | 'FailedValidation'

const normalReasons: ReadonlySet<PodEventReason> = new Set(['Started', 'Killing'])
/** The steps whose failure is an Event of the pod; other failures concern the node alone. */
export const stepFailures: Readonly<
  Partial<Record<PodStep['do'], { readonly reason: PodEventReason; readonly what: string }>>
> = {
  'make-sandbox': { reason: 'FailedCreatePodSandBox', what: 'Failed to create pod sandbox' },
  start: { reason: 'Failed', what: 'Error starting a container' },
  stop: { reason: 'FailedKillPod', what: 'Error killing pod' },
  kill: { reason: 'FailedKillPod', what: 'Error killing pod' },
  'remove-sandbox': { reason: 'FailedKillPod', what: 'Error taking the network from pod' },
}

/** An equal Event is recorded, and counted, once in this time: a probe can fail every second. */
const repeatMs = 20_000

/** Records the Events of pods that `kubectl describe pod` shows. Never throws and never waits. */
export class PodEvents {
  readonly #recorder: EventRecorder
  readonly #nowMs: () => number
  readonly #recordedMs = new Map<string, number>()

  constructor(recorder: EventRecorder, nowMs: () => number = () => performance.now()) {
    this.#recorder = recorder
    this.#nowMs = nowMs
  }

  record({ namespace, name, uid }: PodIdentity, reason: PodEventReason, message: string): void {
    const key = `${reason} ${message}`
    const nowMs = this.#nowMs()
    if (nowMs - (this.#recordedMs.get(key) ?? -repeatMs) < repeatMs) return
    for (const [old, recordedMs] of this.#recordedMs) if (nowMs - recordedMs >= repeatMs) this.#recordedMs.delete(old)
    this.#recordedMs.set(key, nowMs)
    const subject = { apiVersion: 'v1', kind: 'Pod', metadata: { name, namespace, uid } }
    this.#recorder.record(subject, normalReasons.has(reason) ? 'Normal' : 'Warning', reason, message)
  }
}
