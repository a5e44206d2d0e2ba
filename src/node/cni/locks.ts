/** Runs work on different containers in parallel, work on one container in sequence, and exclusive work alone. */
export class AttachmentLocks {
  readonly #tails = new Map<string, Promise<void>>()
  #shared = new Set<Promise<void>>()
  /** Exclusive work that runs or waits; later shared work waits for it, so that it cannot starve. */
  #exclusive: Promise<void> = Promise.resolve()

  async forContainer<T>(containerId: string, work: () => Promise<T>): Promise<T> {
    const done = Promise.withResolvers<void>()
    const before = [this.#exclusive, this.#tails.get(containerId)]
    this.#tails.set(containerId, done.promise)
    this.#shared.add(done.promise)
    try {
      await Promise.all(before)
      return await work()
    } finally {
      if (this.#tails.get(containerId) === done.promise) this.#tails.delete(containerId)
      this.#shared.delete(done.promise)
      done.resolve()
    }
  }

  async alone<T>(work: () => Promise<T>): Promise<T> {
    const done = Promise.withResolvers<void>()
    const before = [this.#exclusive, ...this.#shared]
    this.#exclusive = done.promise
    try {
      await Promise.all(before)
      return await work()
    } finally {
      done.resolve()
    }
  }
}
