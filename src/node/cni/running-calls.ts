/** A plugin call before it starts. */
interface Call {
  readonly command: string
  readonly plugin: string
  /** The network; undefined for VERSION and for a call of another process. */
  readonly network?: { readonly name: string; readonly file: string } | undefined
  /** The container; undefined for VERSION, STATUS and GC. */
  readonly containerId: string | undefined
}

/** A running plugin call. */
export interface RunningCall extends Call {
  readonly sinceMs: number
  /** Time at which it is killed. */
  readonly timeoutMs: number
}

const repeatMs = 10_000

/** Tracks running plugin calls, so that status and commands can name a slow one. */
export class RunningCalls {
  readonly #calls = new Set<RunningCall>()
  readonly #slowMs: number
  readonly #onSlow: (call: RunningCall) => void

  /** Creates the registry; `onSlow` is called when a call reaches `slowAfterMs`, then every 10 s. */
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

  /** Returns the slow calls, the oldest first. */
  slow(): readonly RunningCall[] {
    const nowMs = Date.now()
    return [...this.#calls].filter(({ sinceMs }) => nowMs - sinceMs >= this.#slowMs)
  }
}

/** Describes a call; the text stays equal while the call runs. */
export function describeRunning({ command, plugin, network, sinceMs, timeoutMs }: RunningCall): string {
  const from = network?.file.startsWith('/') ? ` (${network.file})` : ''
  const ofNetwork = network === undefined ? '' : ` of the network ${network.name}${from}`
  const since = new Date(sinceMs).toISOString().slice(11, 19)
  return `the plugin ${plugin} (${command})${ofNetwork} has been running since ${since} UTC; it is killed after ${timeoutMs / 1000} s`
}
