/**
 * The monitor reports a commit within some milliseconds, and one that comes later than this costs a comparison. Kept for long, a pid
 * could be another program's by then, whose commits would pass for ours: with 32,768 pids that takes 3,000 new processes a second.
 */
const keptMs = 10_000

/** Netlink ports of sockets that made commits of ours, for some seconds: a program's first socket has the program's pid as port. */
export class PortIds {
  readonly #untilMs = new Map<number, number>()

  add(portId: number): void {
    const nowMs = performance.now()
    for (const [known, untilMs] of this.#untilMs) if (untilMs < nowMs) this.#untilMs.delete(known)
    this.#untilMs.set(portId, nowMs + keptMs)
  }

  has(portId: number): boolean {
    return (this.#untilMs.get(portId) ?? 0) > performance.now()
  }
}
