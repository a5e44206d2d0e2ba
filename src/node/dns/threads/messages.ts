import type { MessagePort } from 'node:worker_threads'
import type { Cidr } from '../../../model/ip.ts'
import type { Series } from '../metrics/series.ts'
import type { CachedCopy } from '../plugins/cache/thread-answer-cache.ts'
import type { ResolverAnswer } from '../resolver/block-resolver.ts'
import type { ResolverSettings } from '../resolver/settings.ts'
import type { ServingSettings } from '../serve/settings.ts'
import type { SharedTable } from '../zone/layout.ts'

/** What the main thread asks of one that serves; each is answered with its `id`. */
export type ServingRequest =
  | { readonly kind: 'configure'; readonly settings: ServingSettings; readonly tables: readonly SharedTable[] }
  | { readonly kind: 'table'; readonly index: number; readonly table: SharedTable }
  | { readonly kind: 'sources'; readonly networks: readonly Cidr[] }
  | { readonly kind: 'resolver'; readonly port: MessagePort }
  | { readonly kind: 'explain'; readonly question: Uint8Array; readonly port: number }
  | { readonly kind: 'series' }
  | { readonly kind: 'close' }

/** What the main thread asks of the one that resolves. */
export type ResolverRequest =
  | { readonly kind: 'configure'; readonly blocks: readonly ResolverSettings[] }
  | { readonly kind: 'connect'; readonly port: MessagePort }
  | { readonly kind: 'series' }
  | { readonly kind: 'close' }

/** A place on which a thread could not listen. */
export interface ListenFailure {
  readonly address: string
  readonly port: number
  readonly message: string
}

export interface ServingAnswers {
  readonly configure: readonly ListenFailure[]
  readonly table: undefined
  readonly sources: undefined
  readonly resolver: undefined
  readonly explain: Explanation | undefined
  readonly series: readonly Series[]
  readonly close: undefined
}

export interface ResolverAnswers {
  readonly configure: undefined
  readonly connect: undefined
  readonly series: readonly Series[]
  readonly close: undefined
}

/** Where an answer came from. */
export interface Explanation {
  readonly plugin: string
  readonly ageMs: number
  readonly message: Uint8Array | undefined
}

/** What a thread says of its own accord. */
export interface ThreadNote {
  readonly level: 'error' | 'warn' | 'info' | 'debug'
  readonly message: string
  readonly fields: Readonly<Record<string, unknown>>
}

/** A question on its way from a serving thread to the resolving one, and back. */
export interface ResolveRequest {
  readonly id: number
  /** Of the server block. */
  readonly block: string
  readonly question: Uint8Array
  readonly client: string
  readonly overTcp: boolean
  readonly limit: number
  /** Whether what comes from the cache is wanted as it is kept there, too. */
  readonly wantsCopy: boolean
}

export interface ResolveResult {
  readonly id: number
  readonly message: Uint8Array | undefined
  readonly plugin: ResolverAnswer['plugin']
  readonly ageMs: number
  readonly kept?: CachedCopy
}
