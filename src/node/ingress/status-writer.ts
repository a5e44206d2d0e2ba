import { type ApiClient, ApiError } from '../../client/index.ts'
import { Backoff } from '../../loop/backoff.ts'
import { BoundedFrequencyRunner } from '../../loop/bounded-frequency-runner.ts'
import type { Component, Health } from '../../loop/component.ts'
import { HealthKeeper } from '../../loop/health-keeper.ts'
import { type ObjectKey, splitObjectKey } from '../../model/api-object.ts'
import { parseIp } from '../../model/ip.ts'
import type { Logger } from '../../observe/index.ts'
import type { IngressObjects } from './ingress-objects.ts'
import type { IngressPlan } from './plan.ts'

export interface StatusWriterParts {
  readonly client: ApiClient
  /** The API group of Ingresses. */
  readonly group: string
  readonly nodeName: string
  readonly plan: Pick<IngressPlan, 'ingresses' | 'classOf'>
  readonly objects: IngressObjects
  readonly nodes: {
    rankOf(nodeName: string): number | undefined
    addresses(): readonly string[]
  }
  readonly log: Logger
  /** How much longer each node waits than the one before it; 5 s by default. */
  readonly waitPerRankMs?: number
}

const defaultWaitPerRankMs = 5_000
const writesAtOnce = 8

/**
 * Writes `status.loadBalancer.ingress` of the Ingresses of our classes: the addresses of all nodes that serve them. The node whose name sorts first
 * writes at once, each later one only what is still wrong after its wait, so that no election is needed.
 */
export class IngressStatusWriter implements Component {
  readonly name = 'ingress-status'
  readonly #parts: StatusWriterParts
  readonly #runner: BoundedFrequencyRunner
  /** Since when the status of an Ingress differs; in milliseconds of `performance.now`. */
  readonly #wrongSinceMs = new Map<ObjectKey, number>()
  /** Ingresses that were of our classes in the life of this agent. */
  readonly #ours = new Set<ObjectKey>()
  #timer: NodeJS.Timeout | undefined
  readonly #health = new HealthKeeper()

  constructor(parts: StatusWriterParts) {
    this.#parts = parts
    this.#runner = new BoundedFrequencyRunner((scope) => this.#write(scope.signal), {
      backoff: new Backoff({ baseMs: 500, maxMs: 30_000 }),
      minGapMs: 200,
      onError: (error) => this.#onError(error),
    })
  }

  async start(): Promise<void> {
    this.check()
  }

  async stop(scope: { signal: AbortSignal }): Promise<void> {
    clearTimeout(this.#timer)
    await this.#runner.stop(scope)
  }

  health(): Health {
    return this.#health.current
  }

  /** Looks again whether a status is to be written. */
  check(): void {
    this.#runner.request()
  }

  async #write(signal: AbortSignal): Promise<void> {
    const { nodes, nodeName, waitPerRankMs = defaultWaitPerRankMs } = this.#parts
    const rank = nodes.rankOf(nodeName)
    const wrong = this.#findWrong()
    this.#remember(wrong)
    if (rank === undefined) return
    const dueMs = performance.now() - rank * waitPerRankMs
    const due = [...wrong].filter(([key]) => (this.#wrongSinceMs.get(key) ?? dueMs) <= dueMs)
    for (let index = 0; index < due.length; index += writesAtOnce)
      await Promise.all(due.slice(index, index + writesAtOnce).map(([key, want]) => this.#patch(key, want, signal)))
    this.#health.set('ok')
    if (wrong.size > due.length) this.#checkIn(waitPerRankMs)
  }

  /** Ingresses whose status differs from what it should be, with that. */
  #findWrong(): ReadonlyMap<ObjectKey, readonly string[]> {
    const { plan, objects, nodes } = this.#parts
    const addresses = nodes.addresses()
    const wrong = new Map<ObjectKey, readonly string[]>()
    const own = new Set<ObjectKey>()
    for (const ingress of plan.ingresses()) {
      const isOurs = plan.classOf(ingress).kind === 'ours'
      if (isOurs) own.add(ingress.key)
      if (!isOurs && !this.#ours.has(ingress.key)) continue
      const want = isOurs ? addresses : []
      const has = objects.record(ingress.key)?.addresses
      if (has !== undefined && !isSame(has, want)) wrong.set(ingress.key, want)
      else if (!isOurs) this.#ours.delete(ingress.key)
    }
    for (const key of own) this.#ours.add(key)
    return wrong
  }

  #remember(wrong: ReadonlyMap<ObjectKey, unknown>): void {
    for (const key of this.#wrongSinceMs.keys()) if (!wrong.has(key)) this.#wrongSinceMs.delete(key)
    const nowMs = performance.now()
    for (const key of wrong.keys()) if (!this.#wrongSinceMs.has(key)) this.#wrongSinceMs.set(key, nowMs)
  }

  async #patch(key: ObjectKey, addresses: readonly string[], signal: AbortSignal): Promise<void> {
    const { client, group, log } = this.#parts
    const { namespace, name } = splitObjectKey(key)
    const resource = { group, version: 'v1', resource: 'ingresses' }
    const ingress = addresses.map((address) => (parseIp(address) ? { ip: address } : { hostname: address }))
    const patch = { status: { loadBalancer: { ingress } } }
    try {
      await client.patch({ resource, namespace, name, subresource: 'status' }, { kind: 'merge', patch }, { signal })
      log.debug('the status of an Ingress is written', { ingress: key, addresses })
    } catch (error) {
      const isGone = error instanceof ApiError && error.code === 'not-found'
      if (!isGone) throw error
    }
  }

  #checkIn(waitMs: number): void {
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => this.check(), waitMs).unref()
  }

  #onError(error: unknown): void {
    const warn = () => this.#parts.log.warn('the status of an Ingress could not be written; tried again', { error })
    this.#health.fail(error, warn)
  }
}

function isSame(one: readonly string[], other: readonly string[]): boolean {
  const sorted = other.toSorted()
  return one.length === other.length && one.toSorted().every((address, index) => address === sorted[index])
}
