import type { EventRecorder } from '../../client/index.ts'
import type { PodStep } from './plan.ts'
import type { DenialReason } from './pod-permission.ts'

/** The pod an Event is about. */
export interface PodIdentity {
  readonly namespace: string
  readonly name: string
  readonly uid: string
}

/** As kubelet calls them, which people know and search for, and those of our own. */
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
/** The failed steps that Events report; the others concern the node alone. */
export const stepFailures: Readonly<
  Partial<Record<PodStep['do'], { readonly reason: PodEventReason; readonly what: string }>>
> = {
  'make-sandbox': { reason: 'FailedCreatePodSandBox', what: 'Failed to create pod sandbox' },
  start: { reason: 'Failed', what: 'Error starting a container' },
  stop: { reason: 'FailedKillPod', what: 'Error killing pod' },
  kill: { reason: 'FailedKillPod', what: 'Error killing pod' },
  'remove-sandbox': { reason: 'FailedKillPod', what: 'Error taking the network from pod' },
}

/** A probe that fails every second is told, and counted, this often. */
const repeatMs = 20_000

/** What `kubectl describe pod` shows of one pod's life on this node. Never fails and never waits. */
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
