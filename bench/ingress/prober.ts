import { Agent } from 'node:http'
import { httpGet } from '../../test/helpers/http-get.ts'

export interface ProbeAnswer {
  /** 0 where the connection failed. */
  readonly status: number
  readonly text: string
}

/** One kept connection to a proxy of the loopback. */
export class Prober {
  readonly #port: number
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 1 })

  constructor(port: number) {
    this.#port = port
  }

  async ask(host: string, path: string): Promise<ProbeAnswer> {
    const to = { host: '127.0.0.1', port: this.#port, path, agent: this.#agent, headers: { host } }
    const { status, body } = await httpGet(to).catch(() => ({ status: 0, body: '' }))
    return { status, text: body }
  }

  /** Milliseconds until an answer begins with this text. Throws after ten seconds. */
  async timeUntil(host: string, path: string, beginning: string): Promise<number> {
    const startedMs = performance.now()
    for (;;) {
      const { text } = await this.ask(host, path)
      const tookMs = performance.now() - startedMs
      if (text.startsWith(beginning)) return tookMs
      if (tookMs > 10_000) throw new Error(`${host}${path} is not answered by ${beginning}: ${text}`)
    }
  }

  close(): void {
    this.#agent.destroy()
  }
}
