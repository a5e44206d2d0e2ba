import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import type { Console } from '../../console/index.ts'
import type { Component, Health } from '../../loop/component.ts'
import { describeError } from '../../model/errors.ts'
import { loopbackIpv4 } from '../../model/ip.ts'
import type { Logger } from '../../observe/index.ts'
import { type AccessRule, httpListener, refusal, refuseForeignPage, sendAnswer } from '../../serve/index.ts'

export interface ConsoleDoorParts {
  readonly port: number
  /** The option that changes the port. */
  readonly option: string
  readonly access: AccessRule
  /** Loads the code of the console and makes it; called at the first request that may read. */
  readonly load: () => Promise<Console>
  readonly log: Logger
}

/** Listens for browsers on loopback. A port that another process has does not keep the daemon from its start. */
export class ConsoleDoor implements Component {
  readonly name = 'console'
  readonly #parts: ConsoleDoorParts
  #listener: Component | undefined
  #console: Promise<Console> | undefined
  #trouble: Health | undefined

  constructor(parts: ConsoleDoorParts) {
    this.#parts = parts
  }

  /** For another listener that has the console too. */
  readonly handler: RequestListener = (message, response) => {
    void this.#handle(message, response)
  }

  async start(): Promise<void> {
    const { port, option, log } = this.#parts
    const listener = httpListener({ name: this.name, handler: this.handler, log, address: loopbackIpv4, port })
    try {
      await listener.start()
      this.#listener = listener
    } catch (error) {
      log.warn('the web console is not served', {
        error,
        remedy: `choose another port with ${option}, or --console=false`,
      })
      this.#trouble = { level: 'degraded', message: describeError(error), sinceMs: Date.now() }
    }
  }

  async stop(scope: { signal: AbortSignal }): Promise<void> {
    await (await this.#console?.catch(() => undefined))?.close()
    await this.#listener?.stop(scope)
  }

  health(): Health {
    const stopped: Health = { level: 'stopped', message: 'not started', sinceMs: 0 }
    return this.#trouble ?? this.#listener?.health() ?? stopped
  }

  async #handle(message: IncomingMessage, response: ServerResponse): Promise<void> {
    const { access, log } = this.#parts
    const refused = refuseForeignPage(message) ?? (await refusal(access, 'console', message))
    if (refused !== undefined) return sendAnswer(message, response, refused)
    if (message.method === 'OPTIONS') return sendAnswer(message, response, optionsAnswer)
    try {
      const console = await this.#load()
      await console.handle(message, response)
    } catch (error) {
      log.error('the console failed', { error })
      if (!response.headersSent)
        sendAnswer(message, response, { status: 500, body: 'internal error; the log of this process has the reason\n' })
    }
  }

  #load(): Promise<Console> {
    this.#console ??= this.#parts.load().catch((error) => {
      this.#console = undefined
      throw error
    })
    return this.#console
  }
}

/** For `platnet console`, which asks whether a console is there without a reason to load it. */
const optionsAnswer = { status: 200, body: '', headers: { allow: 'GET, HEAD', 'x-platnet-console': '1' } }

/** Gives the paths of the console to it, and all others to the other handler. */
export function besideConsole(console: RequestListener, others: RequestListener): RequestListener {
  return (message, response) => {
    const isOurs = /^\/console(\/|$)/.test(message.url ?? '')
    return isOurs ? console(message, response) : others(message, response)
  }
}
