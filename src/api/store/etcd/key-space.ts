/** The places of keys in etcd, all below one prefix: those of the API, and those by which servers agree. */
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

  constructor(prefix: string) {
    this.#prefix = prefix
    this.all = rangeOf(`${prefix}/`)
    this.identity = Buffer.from(`${prefix}/.cluster/identity`)
    this.mark = `${prefix}/.cluster/mark`
    this.compaction = `${prefix}/.cluster/compaction`
    this.fences = `${prefix}/.cluster/fences/`
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
