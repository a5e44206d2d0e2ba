import { type Answer, type Handler, handlerResult, type Question, serverFailure } from '../handler.ts'
import type { Resolve } from './resolve-request.ts'

export interface ForwardHandlerSettings {
  /** The id of the server block. */
  readonly block: string
  /** The block's cache has copies on serving threads. */
  readonly wantsCopy: boolean
}

/** Gives questions to the resolver, which has the upstreams and the cache of the block. */
export class ForwardHandler implements Handler {
  readonly plugin = 'forward'
  readonly #settings: ForwardHandlerSettings
  readonly #resolve: Resolve

  constructor(settings: ForwardHandlerSettings, resolve: Resolve) {
    this.#settings = settings
    this.#resolve = resolve
  }

  answerNow(): number {
    return handlerResult.resolver
  }

  answer({ query, client, limit }: Question): Answer | Promise<Answer> {
    const { block, wantsCopy } = this.#settings
    const overTcp = client.transport === 'tcp'
    const answer = this.#resolve({ block, wantsCopy, query, client: client.address, overTcp, limit })
    return answer instanceof Promise ? answer.then((late) => late ?? this.#fail(query)) : (answer ?? this.#fail(query))
  }

  #fail(query: Question['query']): Answer {
    return serverFailure(query, this.plugin)
  }
}
