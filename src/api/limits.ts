import { getHeapStatistics } from 'node:v8'

const mebibyte = 1024 * 1024

/** The limits of the API server; docs/security.md says what each one bounds. */
export interface ApiLimits {
  /** The size limit of one stored object as JSON. */
  readonly maxObjectBytes: number
  /** The size limit of all objects, in characters and with 1 KiB for each. */
  readonly maxStoreBytes: number
  /** The limit of gets and lists in progress. */
  readonly maxReads: number
  /** The limit of writing requests in progress. */
  readonly maxWrites: number
  readonly maxWatches: number
}

/** The default limits: for an object that of etcd, for requests those of Kubernetes; the store and its history are in memory. */
export const defaultLimits: ApiLimits = {
  maxObjectBytes: 1.5 * mebibyte,
  maxStoreBytes: Math.floor(getHeapStatistics().heap_size_limit / 4),
  maxReads: 400,
  maxWrites: 200,
  maxWatches: 10_000,
}
