import type { DataObject } from './plan-files.ts'
import type { VolumeApi } from './volume-api.ts'

export interface ObjectName {
  readonly resource: 'configmaps' | 'secrets'
  readonly namespace: string
  readonly name: string
}

interface Reading {
  readonly atMs: number
  readonly found: Promise<DataObject | undefined>
}

/**
 * Reads ConfigMaps and Secrets by name, which the node authorizer allows. The pods of a namespace share a reading: every pod mounts the cluster's
 * CA, and this node asks the API server for it once a minute, not once a pod.
 */
export class ObjectReader {
  readonly #api: Pick<VolumeApi, 'readData'>
  readonly #readings = new Map<string, Reading>()

  constructor(api: Pick<VolumeApi, 'readData'>) {
    this.#api = api
  }

  /** Resolves with data that is at most `maxAgeMs` old. A failed reading is not kept. */
  read({ resource, namespace, name }: ObjectName, maxAgeMs: number): Promise<DataObject | undefined> {
    const nowMs = Date.now()
    const key = `${resource}/${namespace}/${name}`
    const last = this.#readings.get(key)
    if (last !== undefined && Math.abs(nowMs - last.atMs) < maxAgeMs) return last.found
    const reading = { atMs: nowMs, found: this.#api.readData(resource, namespace, name) }
    this.#readings.set(key, reading)
    const forget = () => {
      if (this.#readings.get(key) === reading) this.#readings.delete(key)
    }
    reading.found.catch(forget)
    // No caller accepts an older reading.
    setTimeout(forget, keptMs).unref()
    return reading.found
  }
}

const keptMs = 90_000
