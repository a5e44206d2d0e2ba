import type { EtcdClient } from './etcd-client.ts'
import type { KeySpace } from './key-space.ts'
import { readRevision } from './load-etcd.ts'
import type { Replica } from './replica.ts'

/**
 * Makes reads of memory as fresh as reads of etcd: asks for etcd's newest revision, which a majority confirms, and waits
 * until the replica has it. All callers that come while one question is under way share the next one.
 */
export class ReadIndex {
  readonly #client: EtcdClient
  readonly #keys: KeySpace
  readonly #replica: Replica
  #asking: Promise<unknown> = Promise.resolve()
  #next: Promise<number> | undefined

  constructor(client: EtcdClient, keys: KeySpace, replica: Replica) {
    this.#client = client
    this.#keys = keys
    this.#replica = replica
  }

  /** Resolves once the replica holds every commit that was acknowledged before the call, at whichever server. */
  async confirm(): Promise<void> {
    this.#next ??= this.#asking.then(() => this.#ask())
    await this.#replica.reached(await this.#next)
  }

  #ask(): Promise<number> {
    this.#next = undefined
    const answer = this.#readRevision()
    this.#asking = answer.catch(() => {})
    return answer
  }

  async #readRevision(): Promise<number> {
    const known = this.#replica.state.revision
    const revision = await readRevision(this.#client, this.#keys)
    this.#replica.assertForward(known, revision)
    return revision
  }
}
