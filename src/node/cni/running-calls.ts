/** What is known of a call before it is begun. */
interface Call {
  readonly command: string
  readonly plugin: string
  /** Undefined where it is asked for its versions, or was begun by another process. */
  readonly network?: { readonly name: string; readonly file: string } | undefined
  /** Undefined where it is asked about no container: VERSION, STATUS, GC. */
  readonly containerId: string | undefined
}

/** A plugin that runs now. */
export interface RunningCall extends Call {
  readonly sinceMs: number
  /** When it is killed. */
  readonly timeoutMs: number
}

const repeatMs = 10_000

/** The plugins that run now, for people who wait for them. */
export class RunningCalls {
  readonly #calls = new Set<RunningCall>()
  readonly #slowMs: number
  readonly #onSlow: (call: RunningCall) => void

  /** `onSlow` is called at that age of a call, and every 10 s from then on. */
  constructor(slowMs: number, onSlow: (call: RunningCall) => void) {
    this.#slowMs = slowMs
    this.#onSlow = onSlow
  }

  async during<T>(about: Call, timeoutMs: number, work: () => Promise<T>): Promise<T> {
    const call = { ...about, sinceMs: Date.now(), timeoutMs }
    this.#calls.add(call)
    const tell = (): void => {
      this.#onSlow(call)
      timer = setTimeout(tell, repeatMs)
    }
    let timer = setTimeout(tell, this.#slowMs)
    try {
      return await work()
    } finally {
      clearTimeout(timer)
      this.#calls.delete(call)
    }
  }

  /** Those that people should know of, the oldest first. */
  slow(): readonly RunningCall[] {
    const nowMs = Date.now()
    return [...this.#calls].filter(({ sinceMs }) => nowMs - sinceMs >= this.#slowMs)
  }
}

/** The same text for as long as it runs. */
export function describeRunning({ command, plugin, network, sinceMs, timeoutMs }: RunningCall): string {
  const from = network?.file.startsWith('/') ? ` (${network.file})` : ''
  const ofNetwork = network === undefined ? '' : ` of the network ${network.name}${from}`
  const since = new Date(sinceMs).toISOString().slice(11, 19)
  return `the plugin ${plugin} (${command})${ofNetwork} has been running since ${since} UTC; it is killed after ${timeoutMs / 1000} s`
}
