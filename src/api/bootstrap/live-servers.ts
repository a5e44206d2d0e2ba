import type { Json } from '../../model/api-object.ts'
import { type Ip, ipFamily, parseIp } from '../../model/ip.ts'
import type { Store, StoreWrite } from '../store/index.ts'

/** Each server has a record here, as kube-apiserver has, and writes it again and again. */
const prefix = '/registry/masterleases/'

/** Three times the interval of writes and more: a machine that is busy for some seconds stays. */
const lifetimeMs = 35_000

/**
 * Finds the servers that live. Clocks need not agree: a server counts as gone when its record has not changed for a time by this server's own
 * clock, as with a leader's lease.
 */
export class LiveServers {
  readonly #store: Store
  readonly #own: Ip
  readonly #nowMs: () => number
  /** The revision of each record, and when this server saw it first. */
  readonly #observed = new Map<string, { readonly revision: number; readonly atMs: number }>()

  constructor(store: Store, own: Ip, nowMs: () => number = () => performance.now()) {
    this.#store = store
    this.#own = own
    this.#nowMs = nowMs
  }

  /** Writes the own record; returns the addresses of all servers that live, of the own family, in order. */
  async renew(renewedAt: Date): Promise<readonly Ip[]> {
    await this.#write((key, revision) => {
      const value = JSON.stringify({ renewedAt: renewedAt.toISOString() } satisfies Json)
      return { kind: 'put', key, value, expectedRevision: revision }
    })
    return this.#live()
  }

  /** Removes the own record; returns the addresses of the others. */
  async leave(): Promise<readonly Ip[]> {
    await this.#write((key, revision) =>
      revision === 0 ? undefined : { kind: 'delete', key, expectedRevision: revision },
    )
    return this.#live()
  }

  /** Writes the own record; a conflict, with a server of the same address that has just ended, is left to the next time. */
  async #write(write: (key: string, revision: number) => StoreWrite | undefined): Promise<void> {
    await this.#store.catchUp()
    const key = prefix + this.#own
    const change = write(key, (await this.#store.get(key))?.revision ?? 0)
    if (change !== undefined) await this.#store.commit([change])
  }

  async #live(): Promise<readonly Ip[]> {
    const { entries } = await this.#store.range(prefix)
    const nowMs = this.#nowMs()
    const gone = new Set(this.#observed.keys())
    for (const { key, revision } of entries) {
      gone.delete(key)
      if (this.#observed.get(key)?.revision !== revision) this.#observed.set(key, { revision, atMs: nowMs })
    }
    for (const key of gone) this.#observed.delete(key)
    return [...this.#observed]
      .filter(([, { atMs }]) => nowMs - atMs < lifetimeMs)
      .flatMap(([key]) => parseIp(key.slice(prefix.length)) ?? [])
      .filter((ip) => ipFamily(ip) === ipFamily(this.#own))
      .toSorted()
  }
}
