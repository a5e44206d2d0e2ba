import type { Upstream } from '../forward/upstream.ts'
import type { Resolution, ResolverHandler, ResolverNext, ResolverQuestion } from '../resolver-handler.ts'
import { LoopProbes } from './loop-probes.ts'

/** Receives the name of an upstream that leads back to this server, or does so no longer. */
export interface LoopHandlerEvents {
  readonly onLoop: (upstream: string) => void
  readonly onLoopEnd: (upstream: string) => void
}

/** Probes the upstreams of a block, and gives no answer to the probes that come back. */
export class LoopResolverHandler implements ResolverHandler {
  readonly #probes: readonly LoopProbes[]

  /** Probes each set of `upstreams` by itself, with names of `zone`. */
  constructor(zone: Uint8Array, upstreams: readonly (readonly Upstream[])[], events: LoopHandlerEvents) {
    const probeEvents = {
      onLoop: ({ name }: Upstream) => events.onLoop(name),
      onEnd: ({ name }: Upstream) => events.onLoopEnd(name),
    }
    this.#probes = upstreams.map((set) => new LoopProbes(zone, set, probeEvents))
  }

  start(): void {
    for (const probes of this.#probes) probes.start()
  }

  stop(): void {
    for (const probes of this.#probes) probes.stop()
  }

  resolve(question: ResolverQuestion, next: ResolverNext): Resolution | undefined {
    for (const probes of this.#probes) if (probes.isOurs(question.query)) return { kind: 'silence', plugin: 'loop' }
    return next(question)
  }
}
