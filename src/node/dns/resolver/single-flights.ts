/** One piece of work for each key at a time: whoever asks while it runs gets its result. */
export class SingleFlights<T> {
  readonly #running = new Map<string, Promise<T>>()

  run(key: string, work: () => Promise<T>): Promise<T> {
    const running = this.#running.get(key)
    if (running !== undefined) return running
    const started = work()
    this.#running.set(key, started)
    const end = () => void this.#running.delete(key)
    started.then(end, end)
    return started
  }
}
