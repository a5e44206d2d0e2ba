import type { MessagePort } from 'node:worker_threads'
import type { Cidr } from '../../../model/ip.ts'
import type { Sampling } from '../../../observe/index.ts'
import type { LogFields } from '../../../observe/logger.ts'
import type { Series } from '../metrics/series.ts'
import type { Answer } from '../plugins/handler.ts'
import type { ResolvedBlock } from '../plugins/resolved-block.ts'
import type { ListenFailure } from '../serve/listeners.ts'
import type { ServingSettings } from '../serve/settings.ts'
import type { SharedTable } from '../zone/layout.ts'

/** The requests of the main thread to a serving thread. Each gets an answer with its id. */
export type ServingRequest =
  | { readonly kind: 'configure'; readonly settings: ServingSettings; readonly tables: readonly SharedTable[] }
  | { readonly kind: 'table'; readonly index: number; readonly table: SharedTable }
  | { readonly kind: 'sources'; readonly networks: readonly Cidr[] }
  /** To the thread with the resolver: what it resolves, a channel on which another thread asks, and how queries are traced. */
  | { readonly kind: 'resolve'; readonly blocks: readonly ResolvedBlock[] }
  | { readonly kind: 'resolve for'; readonly port: MessagePort }
  | { readonly kind: 'trace'; readonly sampling: Sampling }
  /** To the other threads: the channel on which they ask. */
  | { readonly kind: 'resolve by'; readonly port: MessagePort }
  | { readonly kind: 'explain'; readonly question: Uint8Array; readonly port: number }
  | { readonly kind: 'series' }
  | { readonly kind: 'close' }

export interface ServingAnswers {
  readonly configure: readonly ListenFailure[]
  readonly table: undefined
  readonly sources: undefined
  readonly resolve: undefined
  readonly 'resolve for': undefined
  readonly trace: undefined
  readonly 'resolve by': undefined
  readonly explain: Explanation | undefined
  readonly series: readonly Series[]
  readonly close: undefined
}

/** The answer to a question, and the plugin that gives it. */
export interface Explanation extends Pick<Answer, 'plugin' | 'ageMs'> {
  readonly message: Uint8Array | undefined
}

/** A log record of a thread, which the main thread writes. */
export interface ThreadLogRecord {
  /** The last part of the log's target. */
  readonly part: 'serve' | 'resolver'
  readonly level: 'error' | 'warn' | 'info' | 'debug'
  readonly message: string
  readonly fields: LogFields
}
