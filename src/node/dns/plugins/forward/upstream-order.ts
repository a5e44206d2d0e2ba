import { randomInt } from 'node:crypto'
import type { ForwardSettings } from './settings.ts'
import type { Upstream } from './upstream.ts'

/** Chooses the order in which a query tries the upstreams that are up, by the policy. */
export class UpstreamOrder {
  readonly #policy: ForwardSettings['policy']
  #turn = -1

  constructor(policy: ForwardSettings['policy']) {
    this.#policy = policy
  }

  next(upstreams: readonly Upstream[]): readonly Upstream[] {
    const up = upstreams.some(isDown) ? upstreams.filter((upstream) => !upstream.isDown) : upstreams
    if (this.#policy === 'sequential' || up.length < 2) return up
    if (this.#policy === 'random') return rotate(up, randomInt(up.length))
    this.#turn += 1
    return rotate(up, this.#turn % up.length)
  }
}

function isDown(upstream: Upstream): boolean {
  return upstream.isDown
}

function rotate<T>(items: readonly T[], by: number): readonly T[] {
  return [...items.slice(by), ...items.slice(0, by)]
}
