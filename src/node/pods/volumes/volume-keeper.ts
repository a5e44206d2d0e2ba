import { rm } from 'node:fs/promises'
import { listFolder, type PodFolders } from '../pod-folders.ts'
import type { PodSpec } from '../pod-spec.ts'
import { ObjectReader } from './object-reader.ts'
import { mountedVolumes, PodVolumes, type PodVolumesParts } from './pod-volumes.ts'
import type { VolumeApi } from './volume-api.ts'

export interface VolumeKeeperParts {
  readonly folders: Pick<PodFolders, 'volumesRoot' | 'volumesFolder'>
  readonly api: VolumeApi
  readonly onTrouble: PodVolumesParts['onTrouble']
}

/** The volumes of this node's pods. */
export class VolumeKeeper {
  readonly #parts: VolumeKeeperParts
  readonly #objects: ObjectReader
  readonly #pods = new Map<string, PodVolumes>()

  constructor(parts: VolumeKeeperParts) {
    this.#parts = parts
    this.#objects = new ObjectReader(parts.api)
  }

  /** Writes what the containers of the pod mount, and keeps it up to date from then on. */
  async make(pod: PodSpec): Promise<void> {
    await this.#of(pod)?.make()
  }

  /** Keeps the volumes of a running pod up to date, also those that a previous agent wrote. */
  keep(pod: PodSpec): void {
    this.#of(pod)?.keep()
  }

  /** Takes the current Pod of the API. */
  follow(pod: PodSpec): void {
    this.#pods.get(pod.uid)?.setPod(pod)
  }

  /** Removes the volumes of a pod that has ended. */
  async drop(uid: string): Promise<void> {
    const volumes = this.#pods.get(uid)
    this.#pods.delete(uid)
    await volumes?.stop()
    await rm(this.#parts.folders.volumesFolder(uid), { recursive: true, force: true })
  }

  /** Removes the volumes of all pods but these. */
  async collect(live: ReadonlySet<string>): Promise<void> {
    for (const uid of listFolder(this.#parts.folders.volumesRoot)) if (!live.has(uid)) await this.drop(uid)
  }

  /** Ends the updates. The files stay for the containers, which go on. */
  async stop(): Promise<void> {
    await Promise.all(this.#pods.values().map((volumes) => volumes.stop()))
  }

  /** Undefined for a pod without volumes. */
  #of(pod: PodSpec): PodVolumes | undefined {
    const known = this.#pods.get(pod.uid)
    if (known !== undefined || mountedVolumes(pod).length === 0) return known
    const { folders, api, onTrouble } = this.#parts
    const folder = folders.volumesFolder(pod.uid)
    const made = new PodVolumes({ folder, api, objects: this.#objects, onTrouble }, pod)
    this.#pods.set(pod.uid, made)
    return made
  }
}
