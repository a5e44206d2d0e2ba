const keptMs = 120_000

/** Netlink ports of sockets that made commits of ours, for some time: a program's first socket has the program's pid as port. */
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
