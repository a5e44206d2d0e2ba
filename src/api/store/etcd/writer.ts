import type { CommitResult, StoreWrite } from '../store-entries.ts'
import { StoreError } from '../store-error.ts'
import type { EtcdClient } from './etcd-client.ts'
import { EtcdCallError, isNoSpace, isPassing, toStoreError } from './etcd-error.ts'
import type { KeySpace } from './key-space.ts'
import {
  deletionOf,
  equalModRevision,
  etcdMethods,
  putOf,
  type RevisionCompare,
  type TxnOperation,
  type TxnRequest,
  type TxnResponse,
} from './messages.ts'
import type { ExpectedCommit, Replica } from './replica.ts'

/** The end of one attempt to commit. */
type Attempt =
  | { readonly kind: 'seen'; readonly revision: number }
  | { readonly kind: 'answered'; readonly succeeded: boolean; readonly revision: number }
  /** No answer: it may have happened, or happen yet. */
  | { readonly kind: 'unknown' }

interface Commit {
  readonly writes: readonly StoreWrite[]
  readonly mark: string
  readonly expected: ExpectedCommit
  readonly deadlineMs: number
}

/**
 * Commits by one transaction of etcd. Each carries a mark with an id, by which the feed shows it, and this server's fence.
 * After an attempt without an answer the fence is renewed: from then on the attempt has happened, and the feed has shown
 * it, or it never will. So a commit is repeated only when it certainly has not happened.
 */
export class Writer {
  readonly #client: EtcdClient
  readonly #keys: KeySpace
  readonly #replica: Replica
  readonly #fenceKey: Buffer
  readonly #server: string
  #commits = 0
  #renewing: Promise<void> | undefined

  constructor(client: EtcdClient, keys: KeySpace, replica: Replica, server: string) {
    this.#client = client
    this.#keys = keys
    this.#replica = replica
    this.#server = server
    this.#fenceKey = Buffer.from(keys.fences + server)
  }

  async commit(writes: readonly StoreWrite[], traceparent: string | undefined): Promise<CommitResult> {
    const rival = this.#knownRival(writes)
    if (rival !== undefined) return rival
    const id = `${this.#server}:${++this.#commits}`
    const mark = traceparent === undefined ? id : `${id} ${traceparent}`
    const expected = this.#replica.expect(id)
    try {
      return await this.#untilSettled({
        writes,
        mark,
        expected,
        deadlineMs: performance.now() + this.#client.patienceMs,
      })
    } finally {
      this.#replica.forget(id)
    }
  }

  async #untilSettled(commit: Commit): Promise<CommitResult> {
    for (;;) {
      const { fence } = this.#replica
      const attempt = await Promise.race([this.#send(commit, fence), seen(commit)])
      const result = await this.#settle(commit, fence, attempt)
      if (result !== undefined) return result
      if (performance.now() > commit.deadlineMs) {
        throw new StoreError('store-unreachable', 'etcd did not take a write in time; nothing of it is stored')
      }
    }
  }

  /** Returns the result of an attempt; undefined when it had no effect and the commit may be sent again. */
  async #settle(commit: Commit, fence: number, attempt: Attempt): Promise<CommitResult | undefined> {
    if (attempt.kind === 'seen') return { kind: 'committed', revision: attempt.revision }
    if (attempt.kind === 'unknown') {
      await this.#renewFence(fence)
      return committed(commit.expected.revision)
    }
    if (attempt.succeeded) {
      // The commit is there, also when this server is slow to learn of it: reads wait until it has.
      await this.#replica.reached(attempt.revision, 'own').catch(() => {})
      return committed(attempt.revision)
    }
    await this.#replica.reached(attempt.revision)
    const result = committed(commit.expected.revision) ?? this.#rival(commit.writes)
    // Without a rival the fence was another one: renewed meanwhile, or removed as that of a server of the past.
    if (result === undefined) await this.#renewFence(fence)
    return result
  }

  async #send(commit: Commit, fence: number): Promise<Attempt> {
    try {
      const known = this.#replica.state.revision
      const answer = await this.#ask(commit, fence)
      const revision = this.#keys.revisionOf(answer.header.revision)
      this.#assertForward(known, revision, answer.succeeded)
      return { kind: 'answered', succeeded: answer.succeeded, revision }
    } catch (thrown) {
      if (!(thrown instanceof EtcdCallError)) throw thrown
      if (!isPassing(thrown)) throw toStoreError(thrown)
      return { kind: 'unknown' }
    }
  }

  #assertForward(known: number, revision: number, succeeded: boolean): void {
    try {
      this.#replica.assertForward(known, revision)
    } catch (cause) {
      if (!succeeded) throw cause
      throw new StoreError('outcome-unknown', 'etcd took a write in an older state than this server has seen', {
        cause,
      })
    }
  }

  /** Deletions go without the mark where etcd has no space left: they are what makes room. */
  async #ask(commit: Commit, fence: number): Promise<TxnResponse> {
    const txn = this.#toTxn(commit, fence)
    try {
      return await this.#client.once(etcdMethods.txn, txn)
    } catch (thrown) {
      const mayGo = isNoSpace(thrown) && commit.writes.every(({ kind }) => kind === 'delete')
      if (!mayGo) throw thrown
      return this.#client.once(etcdMethods.txn, { ...txn, success: txn.success.slice(0, -1) })
    }
  }

  #toTxn({ writes, mark }: Commit, fence: number): TxnRequest {
    const compare: RevisionCompare[] = [this.#equalRevision(this.#fenceKey, fence)]
    const success: TxnOperation[] = []
    for (const write of writes) {
      const key = this.#keys.toEtcd(write.key)
      compare.push(this.#equalRevision(key, write.expectedRevision))
      success.push(write.kind === 'put' ? putOf(key, write.value) : deletionOf(key))
    }
    success.push(putOf(Buffer.from(this.#keys.mark), mark))
    return { compare, success }
  }

  #equalRevision(key: Buffer, revision: number): RevisionCompare {
    return equalModRevision(key, this.#keys.toWireRevision(revision))
  }

  /** Makes every attempt under that fence, or an older one, without effect from now on, and waits until the feed has shown those that had one. */
  async #renewFence(fence: number): Promise<void> {
    if (this.#replica.fence !== fence) return
    this.#renewing ??= this.#putFence().finally(() => {
      this.#renewing = undefined
    })
    await this.#renewing
  }

  async #putFence(): Promise<void> {
    const put = putOf(this.#fenceKey, new Date().toISOString())
    try {
      const { header } = await this.#client.untilAnswered(etcdMethods.txn, { compare: [], success: [put] })
      await this.#replica.reached(this.#keys.revisionOf(header.revision), 'own')
    } catch (cause) {
      throw new StoreError('outcome-unknown', 'etcd gave no answer to a write: it may have happened or not', {
        remedy: 'read the object before the write is repeated',
        cause,
      })
    }
  }

  /** Finds a conflict without asking etcd: the expected revision of a key has been there, and is not any more. */
  #knownRival(writes: readonly StoreWrite[]): CommitResult | undefined {
    const { state } = this.#replica
    const past = writes.filter(({ expectedRevision }) => expectedRevision > 0 && expectedRevision <= state.revision)
    return this.#rival(past)
  }

  #rival(writes: readonly StoreWrite[]): CommitResult | undefined {
    const { state } = this.#replica
    const rival = writes.find(({ key, expectedRevision }) => (state.get(key)?.revision ?? 0) !== expectedRevision)
    return rival && { kind: 'conflict', key: rival.key, current: state.get(rival.key) }
  }
}

async function seen({ expected }: Commit): Promise<Attempt> {
  return { kind: 'seen', revision: await expected.seen }
}

function committed(revision: number | undefined): CommitResult | undefined {
  return revision === undefined ? undefined : { kind: 'committed', revision }
}
