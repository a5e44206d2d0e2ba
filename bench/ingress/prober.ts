import { Agent, request } from 'node:http'

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

  ask(host: string, path: string): Promise<ProbeAnswer> {
    return new Promise((resolve) => {
      const failed = () => resolve({ status: 0, text: '' })
      const to = { host: '127.0.0.1', port: this.#port, path, agent: this.#agent, headers: { host } }
      request(to, (response) => {
        let text = ''
        response.on('data', (chunk) => {
          text += String(chunk)
        })
        response.once('end', () => resolve({ status: response.statusCode ?? 0, text }))
        response.once('error', failed)
      })
        .once('error', failed)
        .end()
    })
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
