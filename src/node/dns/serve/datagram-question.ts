import type { Client } from '../plugins/client.ts'
import type { Resolution, ResolverQuestion } from '../plugins/resolver-handler.ts'
import type { GiveCopy } from '../resolver/batches.ts'
import type { Query } from '../wire/query.ts'
import type { ActiveBlock } from './active-block.ts'

/** Sends the answers to datagrams. */
export interface DatagramReplies {
  /** The buffer for the next answer. */
  readonly answer: Buffer
  /** Sends the first `length` bytes of `answer`. */
  reply(source: Buffer, length: number): void
}

/** A datagram that is answered from the cache of the resolver or by upstreams. */
export interface ForwardedDatagram {
  /** Stay as they are until it is answered. */
  readonly bytes: Buffer
  readonly client: Client
  /** The address that its `DatagramBatch` gave. */
  readonly source: Buffer
  readonly replies: DatagramReplies
  /** Receives a copy of a cached answer where another thread took the datagram. */
  readonly giveCopy?: GiveCopy
}

/** The question of a datagram on its way through the resolver. */
export class DatagramQuestion implements ResolverQuestion {
  readonly overTcp = false
  readonly client: string
  readonly query: Query
  readonly datagram: ForwardedDatagram
  readonly block: ActiveBlock
  readonly startedMs = performance.now()
  readonly #onDone: (question: DatagramQuestion, resolution: Resolution) => void

  constructor(
    query: Query,
    { datagram, block }: Pick<DatagramQuestion, 'datagram' | 'block'>,
    onDone: (question: DatagramQuestion, resolution: Resolution) => void,
  ) {
    this.client = datagram.client.address
    this.query = query
    this.datagram = datagram
    this.block = block
    this.#onDone = onDone
  }

  done(resolution: Resolution): void {
    this.#onDone(this, resolution)
  }
}
