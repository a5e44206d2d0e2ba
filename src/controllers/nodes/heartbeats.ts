/** The time of each node's last heartbeat, by the local clock: clocks of nodes may differ. */
export class Heartbeats {
  readonly #seen = new Map<string, { mark: string; atMs: number }>()

  /** Returns how long a node has been silent. `mark` differs with each heartbeat; a node seen for the first time has just sent one. */
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
