import { getHeapStatistics } from 'node:v8'

const mebibyte = 1024 * 1024

/** What the API server as a whole gives to its clients; see docs/security.md for what each bounds. */
export interface ApiLimits {
  /** Of one object as it is stored, as JSON. */
  readonly maxObjectBytes: number
  /** Of all objects, in characters and with 1 KiB for each. */
  readonly maxStoreBytes: number
  /** Gets and lists being worked on or sent. */
  readonly maxReads: number
  /** Requests that change something being worked on. */
  readonly maxWrites: number
  readonly maxWatches: number
}

/** The object as in etcd, the requests as in Kubernetes; the store is in memory, with its history beside it. */
export const defaultLimits: ApiLimits = {
  maxObjectBytes: 1.5 * mebibyte,
  maxStoreBytes: Math.floor(getHeapStatistics().heap_size_limit / 4),
  maxReads: 400,
  maxWrites: 200,
  maxWatches: 10_000,
}
