import type { EventRecorder } from '../../client/index.ts'

/** The pod an Event is about. */
export interface PodIdentity {
  readonly namespace: string
  readonly name: string
  readonly uid: string
}

/** As kubelet calls them: people know these and search for them. */
export type PodEventReason =
  | 'Started'
  | 'Killing'
  | 'Failed'
  | 'BackOff'
  | 'Unhealthy'
  | 'FailedCreatePodSandBox'
  | 'FailedKillPod'
  | 'FailedValidation'

const normalReasons: ReadonlySet<PodEventReason> = new Set(['Started', 'Killing'])
/** A probe that fails every second is told, and counted, this often. */
const repeatMs = 20_000

/** What `kubectl describe pod` shows of one pod's life on this node. Never fails and never waits. */
export class PodEvents {
  readonly #recorder: EventRecorder
  readonly #nowMs: () => number
  readonly #toldMs = new Map<string, number>()

  constructor(recorder: EventRecorder, nowMs: () => number = () => performance.now()) {
    this.#recorder = recorder
    this.#nowMs = nowMs
  }

  tell({ namespace, name, uid }: PodIdentity, reason: PodEventReason, message: string): void {
    const key = `${reason} ${message}`
    const nowMs = this.#nowMs()
    if (nowMs - (this.#toldMs.get(key) ?? -repeatMs) < repeatMs) return
    for (const [old, toldMs] of this.#toldMs) if (nowMs - toldMs >= repeatMs) this.#toldMs.delete(old)
    this.#toldMs.set(key, nowMs)
    const subject = { apiVersion: 'v1', kind: 'Pod', metadata: { name, namespace, uid } }
    this.#recorder.record(subject, normalReasons.has(reason) ? 'Normal' : 'Warning', reason, message)
  }
}
