/** Lets work on different containers run side by side, work on one container one after another, and exclusive work alone. */
export class AttachmentLocks {
  readonly #tails = new Map<string, Promise<void>>()
  #shared = new Set<Promise<void>>()
  /** Exclusive work that runs or waits; shared work that comes later waits for it, so that it gets its turn. */
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
