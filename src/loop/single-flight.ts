/** Runs at most one job per key at a time: a caller that asks during a run shares its result. */
export class SingleFlight<T> {
  readonly #running = new Map<string, Promise<T>>()

  run(key: string, job: () => Promise<T>): Promise<T> {
    const running = this.#running.get(key)
    if (running !== undefined) return running
    const started = job()
    this.#running.set(key, started)
    const end = () => void this.#running.delete(key)
    started.then(end, end)
    return started
  }
}
