/** When each node last showed a sign of life, by our own clock: clocks of nodes need not agree with it. */
export class Heartbeats {
  readonly #seen = new Map<string, { mark: string; atMs: number }>()

  /** How long a node has been silent; `mark` is anything that differs with each sign of life. A node seen for the first time just gave one. */
  silentMs(node: string, mark: string, nowMs: number): number {
    const last = this.#seen.get(node)
    if (last?.mark === mark) return nowMs - last.atMs
    this.#seen.set(node, { mark, atMs: nowMs })
    return 0
  }

  forget(node: string): void {
    this.#seen.delete(node)
  }
}
