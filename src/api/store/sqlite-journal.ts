import { Worker } from 'node:worker_threads'
import type { DialectName } from '../../model/dialect.ts'
import { describeError } from '../../model/errors.ts'
import { type Journal, type JournalContent, type JournalRow, toJournalRows } from './journal.ts'
import type { SqliteCallName, SqliteCalls, SqliteReply, StoreErrorText } from './sqlite-protocol.ts'
import { StoreError } from './store-error.ts'
import type { CommitRecord } from './versioned-keys.ts'

interface OpenQuestion {
  readonly resolve: (answer: unknown) => void
  readonly reject: (error: Error) => void
}

/** The main thread's side of the worker that owns the database. */
export class SqliteJournal implements Journal {
  readonly #worker: Worker
  /** The open requests in the order sent, which is the order of the replies. */
  readonly #open: OpenQuestion[] = []
  #end: StoreError | undefined

  constructor(worker: Worker) {
    this.#worker = worker
    worker.on('message', (reply: SqliteReply) => this.#take(reply))
    worker.on('error', (thrown) => this.#stop(describeError(thrown)))
    worker.on('exit', (code) => this.#stop(`it ended with code ${code}`))
  }

  /** Loads the content of the database; its rows are read once, before anything is appended. */
  async load(path: string, dialect: DialectName): Promise<JournalContent> {
    const { revision, compactRevision } = await this.#ask('open', { path, dialect })
    return { revision, compactRevision, rows: this.#readRows() }
  }

  async append(group: readonly CommitRecord[]): Promise<void> {
    await this.#ask('append', { rows: group.flatMap(toJournalRows) })
  }

  /** Compacts in steps: an append that comes meanwhile waits for at most one of them. */
  async compact(revision: number): Promise<void> {
    let fromSeq: number | undefined = 0
    while (fromSeq !== undefined) {
      const step: SqliteCalls['compact']['answer'] = await this.#ask('compact', { revision, fromSeq })
      fromSeq = step.nextSeq
    }
  }

  async copyTo(path: string): Promise<void> {
    await this.#ask('copy', { path })
  }

  async recover(revision: number): Promise<void> {
    await this.#ask('recover', { revision })
  }

  async close(): Promise<void> {
    try {
      if (this.#end === undefined) await this.#ask('close', undefined)
    } finally {
      await this.#worker.terminate()
    }
  }

  async *#readRows(): AsyncGenerator<readonly JournalRow[], void> {
    let fromSeq: number | undefined = 0
    while (fromSeq !== undefined) {
      const step: SqliteCalls['read']['answer'] = await this.#ask('read', { fromSeq })
      yield step.rows
      fromSeq = step.nextSeq
    }
  }

  #ask<Name extends SqliteCallName>(call: Name, ask: SqliteCalls[Name]['ask']): Promise<SqliteCalls[Name]['answer']> {
    return new Promise((resolve, reject) => {
      if (this.#end !== undefined) {
        reject(this.#end)
        return
      }
      this.#open.push({ resolve: (answer) => resolve(answer as SqliteCalls[Name]['answer']), reject })
      this.#worker.postMessage({ call, ask })
    })
  }

  #take(reply: SqliteReply): void {
    const question = this.#open.shift()
    if ('answer' in reply) question?.resolve(reply.answer)
    else question?.reject(toError(reply.error))
  }

  #stop(reason: string): void {
    this.#end ??= new StoreError('store-failed', `the thread of the database is gone: ${reason}`)
    for (const { reject } of this.#open.splice(0)) reject(this.#end)
  }
}

function toError({ code, message, remedy }: StoreErrorText): StoreError {
  return new StoreError(code, message, remedy === undefined ? {} : { remedy })
}

/** Starts the thread; `load` opens the database in it. */
export function startSqliteJournal(): SqliteJournal {
  return new SqliteJournal(new Worker(new URL('./sqlite-worker.ts', import.meta.url), { name: 'store' }))
}
