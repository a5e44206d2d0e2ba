import type { Pod } from '../objects/pod.ts'
import { keyOf } from '../runtime/resource-type.ts'

/** The record of one pass over a Service. */
export interface Pass {
  /** The keys, by uid, of the pods that changed since the pass began. */
  readonly changed: Map<string, string>
  isSettled: boolean
  /** The time of the newest change that the slices show. */
  triggerTime: string | undefined
}

/** Records which Services are as the last pass left them, and which of their pods changed since: the next pass looks only at these pods. */
export class SettledServices {
  readonly #passes = new Map<string, Pass>()

  /** Begins a pass. `last` is the pass that this one continues; undefined if the pass must look at all pods. */
  begin(service: string): { readonly last: Pass | undefined; readonly pass: Pass } {
    const last = this.#passes.get(service)
    const pass: Pass = { changed: new Map(), isSettled: false, triggerTime: undefined }
    this.#passes.set(service, pass)
    return { last: last?.isSettled === true ? last : undefined, pass }
  }

  /** Records that all writes of the pass succeeded. */
  settle(pass: Pass, triggerTime: string | undefined): void {
    pass.triggerTime = triggerTime
    pass.isSettled = true
  }

  notePod(service: string, pod: Pod): void {
    this.#passes.get(service)?.changed.set(pod.metadata.uid, keyOf(pod))
  }

  /** Records that something other than a pod changed: the Service, its slices or a node of its pods. */
  unsettle(service: string): void {
    this.#passes.delete(service)
  }
}
