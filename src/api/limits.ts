const mebibyte = 1024 * 1024

/** What the API server as a whole gives to its clients; see docs/security.md for what each bounds. */
export interface ApiLimits {
  /** Of one object as it is stored, as JSON. */
  readonly maxObjectBytes: number
  /** Gets and lists being worked on or sent. */
  readonly maxReads: number
  /** Requests that change something being worked on. */
  readonly maxWrites: number
  readonly maxWatches: number
}

/** The object as in etcd, the requests as in Kubernetes. */
export const defaultLimits: ApiLimits = {
  maxObjectBytes: 1.5 * mebibyte,
  maxReads: 400,
  maxWrites: 200,
  maxWatches: 10_000,
}
