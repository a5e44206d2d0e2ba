import { type Answer, type Handler, handlerResult, type Question, serverFailure } from '../handler.ts'
import type { Resolve } from './resolve-request.ts'

export interface ForwardHandlerSettings {
  /** The id of the server block. */
  readonly block: string
  /** The block's cache has copies on serving threads. */
  readonly wantsCopy: boolean
}

/** Sends questions to the resolver thread, which has the upstreams and the cache of the block. */
export class ForwardHandler implements Handler {
  readonly plugin = 'forward'
  readonly #settings: ForwardHandlerSettings
  readonly #resolve: Resolve

  constructor(settings: ForwardHandlerSettings, resolve: Resolve) {
    this.#settings = settings
    this.#resolve = resolve
  }

  answerNow(): number {
    return handlerResult.later
  }

  async answer({ query, client, limit }: Question): Promise<Answer> {
    const result = await this.#resolve({
      ...this.#settings,
      question: query.bytes.subarray(0, query.length),
      client: client.address,
      overTcp: client.transport === 'tcp',
      limit,
    })
    if (result === undefined) return serverFailure(query, this.plugin)
    const { plugin, ageMs, message, copy } = result
    return { plugin, ageMs, message: message && Buffer.from(message.buffer), ...(copy && { copy }) }
  }
}
