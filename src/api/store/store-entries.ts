/** The value of a key at its last change. An empty store has revision 1; each commit adds one, and none is used twice. */
export interface StoredEntry {
  readonly key: string
  /** The object as JSON text without `metadata.resourceVersion`, which is the entry's revision. */
  readonly value: string
  readonly createRevision: number
  readonly revision: number
}

/** One write of a commit. `expectedRevision` is the compare-and-swap: 0 means the key must not exist. */
export type StoreWrite =
  | { readonly kind: 'put'; readonly key: string; readonly value: string; readonly expectedRevision: number }
  | { readonly kind: 'delete'; readonly key: string; readonly expectedRevision: number }

export type CommitResult =
  | { readonly kind: 'committed'; readonly revision: number }
  /** The key whose revision was not the expected one, with its current entry. Nothing was written. */
  | { readonly kind: 'conflict'; readonly key: string; readonly current: StoredEntry | undefined }

export type StoreEvent = Traced &
  (
    | { readonly kind: 'put'; readonly entry: StoredEntry; readonly previous: StoredEntry | undefined }
    | { readonly kind: 'delete'; readonly key: string; readonly revision: number; readonly previous: StoredEntry }
  )

interface Traced {
  /** The place of the commit in its trace, in the form of W3C Trace Context; absent where the commit is not traced. */
  readonly traceparent?: string
}

export interface Range {
  readonly revision: number
  /** In key order. */
  readonly entries: readonly StoredEntry[]
  readonly more: boolean
}
