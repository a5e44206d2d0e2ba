import { toNumber, type WireInteger } from './messages.ts'

/**
 * The places of keys in etcd, all below one prefix: those of the API, and those by which servers agree. A revision of the store is etcd's plus
 * `revisionOffset`, so that the revisions of a cluster that comes from elsewhere go on above those that its clients know.
 */
export class KeySpace {
  readonly #prefix: string
  /** The range of all keys. */
  readonly all: { readonly key: Buffer; readonly rangeEnd: Buffer }
  /** The identity of this cluster: dialect, format, certificate authority. */
  readonly identity: Buffer
  /** Written by each commit: which server made it. Its changes are events, so that a server recognises its own commits. */
  readonly mark: string
  /** The revision up to which history is forgotten. */
  readonly compaction: string
  /** The fences of servers. */
  readonly fences: string

  /** The marker of a migration to this place that has not finished. */
  readonly migration: Buffer
  readonly #revisionOffset: number

  constructor(prefix: string, revisionOffset = 0) {
    this.#revisionOffset = revisionOffset
    this.#prefix = prefix
    this.all = rangeOf(`${prefix}/`)
    this.identity = Buffer.from(`${prefix}/.cluster/identity`)
    this.mark = `${prefix}/.cluster/mark`
    this.compaction = `${prefix}/.cluster/compaction`
    this.migration = Buffer.from(`${prefix}/.cluster/migration`)
    this.fences = `${prefix}/.cluster/fences/`
  }

  /** The lowest revision. */
  get firstRevision(): number {
    return this.#revisionOffset + 1
  }

  revisionOf(wire: WireInteger): number {
    return toNumber(wire) + this.#revisionOffset
  }

  /** Returns etcd's number of a revision; 0, for a key that is not there, stays 0. */
  toWireRevision(revision: number): number {
    return revision === 0 ? 0 : revision - this.#revisionOffset
  }

  toEtcd(key: string): Buffer {
    return Buffer.from(this.#prefix + key)
  }

  /** Returns the key of the API; undefined for a key by which servers agree. */
  fromEtcd(key: string): string | undefined {
    return key.startsWith(`${this.#prefix}/.cluster/`) ? undefined : key.slice(this.#prefix.length)
  }
}

/** Returns the range of the keys that begin with a text of ASCII characters. */
export function rangeOf(prefix: string): { readonly key: Buffer; readonly rangeEnd: Buffer } {
  const key = Buffer.from(prefix)
  const rangeEnd = Buffer.from(prefix)
  rangeEnd.writeUInt8((rangeEnd.at(-1) ?? 0) + 1, rangeEnd.length - 1)
  return { key, rangeEnd }
}
