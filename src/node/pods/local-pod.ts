import type { PodEventReason, PodEvents } from './pod-events.ts'
import type { PodFolders, StoredPod } from './pod-folders.ts'
import type { PodSpec } from './pod-spec.ts'

/** One pod of this node, as the parts of its worker share it: the object in the API and the record on disk. */
export class LocalPod {
  readonly #folders: PodFolders
  readonly #events: PodEvents
  #object: PodSpec | undefined
  #record: StoredPod | undefined
  #uid: string | undefined

  /** `record` is what an earlier agent stored; undefined for a new pod. */
  constructor(folders: PodFolders, events: PodEvents, record: StoredPod | undefined) {
    this.#folders = folders
    this.#events = events
    this.#record = record
    this.#uid = record?.uid
  }

  /** The Pod of the API; undefined if the API does not have it. */
  get object(): PodSpec | undefined {
    return this.#object
  }

  set object(object: PodSpec | undefined) {
    this.#object = object
    this.#uid ??= object?.uid
  }

  /** The stored record; undefined before the first write and after `removeRecord`. */
  get record(): StoredPod | undefined {
    return this.#record
  }

  /** Stays known after the object is gone; undefined before the first object or record. */
  get uid(): string | undefined {
    return this.#uid
  }

  /** `namespace/name` */
  get key(): string {
    return this.#object?.key ?? `${this.#record?.namespace}/${this.#record?.name}`
  }

  /** Resolves when the record is durable. */
  async writeRecord(record: StoredPod): Promise<void> {
    await this.#folders.write(record)
    this.#record = record
  }

  /** Removes the record, the logs and the files of the pod. */
  removeRecord(): void {
    if (this.#uid !== undefined) this.#folders.remove(this.#uid)
    this.#record = undefined
  }

  /** Records an Event about the pod; does nothing if the API does not have the pod. */
  recordEvent(reason: PodEventReason, message: string): void {
    if (this.#object !== undefined) this.#events.record(this.#object, reason, message)
  }
}
