import { setTimeout as sleep } from 'node:timers/promises'
import { describeError } from '../../model/errors.ts'
import type { Logger } from '../../observe/index.ts'
import { type NodeSamples, parseSamples } from './samples.ts'
import { type NodeRates, ratesBetween, type Usage } from './usage.ts'

/** A node and the address of its agent. */
export interface AgentAddress {
  readonly node: string
  readonly host: string
  readonly port: number
}

export interface UsageKeeperParts {
  /** Returns the present nodes. */
  readonly agents: () => Promise<readonly AgentAddress[]>
  /** Returns the text of an agent's `/metrics/resource`. Rejects when the agent does not answer. */
  readonly fetch: (agent: AgentAddress, signal: AbortSignal) => Promise<string>
  readonly timing?: Partial<UsageTiming>
  readonly log: Logger
}

export interface UsageTiming {
  /** The time between two samples of a node. */
  readonly intervalMs: number
  /** The time between the first two samples, after which there are figures. */
  readonly firstIntervalMs: number
  /** The limit of one agent's answer. */
  readonly agentTimeoutMs: number
  /** The longest time that the first reader waits for figures. */
  readonly firstWaitMs: number
  /** The time after the last reader at which sampling ends. */
  readonly idleMs: number
}

const defaultTiming: UsageTiming = {
  intervalMs: 15_000,
  firstIntervalMs: 1000,
  agentTimeoutMs: 5000,
  firstWaitMs: 3000,
  idleMs: 60_000,
}

const agentsAtOnce = 16
/** Figures of a node that has not answered in so many intervals are dropped. */
const staleIntervals = 3

/**
 * Keeps what nodes and containers use, from samples of all agents every 15 s, while a client reads it. Without a reader
 * for a minute it stops and forgets. The first reader waits for two samples, 1 s apart.
 */
export class UsageKeeper {
  readonly #parts: UsageKeeperParts
  readonly #timing: UsageTiming
  #samples = new Map<string, NodeSamples>()
  #rates = new Map<string, { readonly rates: NodeRates; readonly atMs: number }>()
  #failing = new Set<string>()
  #readAtMs = 0
  #stopping = new AbortController()
  #loop: Promise<void> | undefined
  #hasRates = Promise.withResolvers<void>()

  constructor(parts: UsageKeeperParts) {
    this.#parts = parts
    this.#timing = { ...defaultTiming, ...parts.timing }
  }

  /** Returns the newest figures. Nodes that do not answer are left out. */
  async read(): Promise<Usage> {
    this.#readAtMs = performance.now()
    this.#loop ??= this.#sampleWhileRead()
    const giveUp = new AbortController()
    const wait = sleep(this.#timing.firstWaitMs, undefined, { signal: giveUp.signal }).catch(() => {})
    await Promise.race([this.#hasRates.promise, wait])
    giveUp.abort()
    const oldestMs = performance.now() - staleIntervals * this.#timing.intervalMs
    const fresh = [...this.#rates].filter(([, { atMs }]) => atMs >= oldestMs)
    return new Map(fresh.map(([node, { rates }]) => [node, rates]))
  }

  /** Ends sampling. */
  async stop(): Promise<void> {
    this.#stopping.abort()
    await this.#loop
  }

  async #sampleWhileRead(): Promise<void> {
    const { intervalMs, firstIntervalMs, idleMs } = this.#timing
    const { signal } = this.#stopping
    for (let round = 0; !signal.aborted && performance.now() - this.#readAtMs < idleMs; round++) {
      await this.#sampleAll(signal)
      if (round > 0) this.#hasRates.resolve()
      await sleep(round === 0 ? firstIntervalMs : intervalMs, undefined, { signal }).catch(() => {})
    }
    this.#forget()
  }

  #forget(): void {
    this.#samples = new Map()
    this.#rates = new Map()
    this.#failing = new Set()
    this.#hasRates.resolve()
    this.#hasRates = Promise.withResolvers()
    this.#loop = undefined
  }

  async #sampleAll(signal: AbortSignal): Promise<void> {
    try {
      const agents = await this.#parts.agents()
      this.#dropOthers(agents)
      const queue = [...agents]
      const work = async () => {
        for (let agent = queue.pop(); agent !== undefined; agent = queue.pop()) await this.#sample(agent, signal)
      }
      await Promise.all(Array.from({ length: agentsAtOnce }, work))
    } catch (error) {
      this.#parts.log.warn('the nodes could not be listed for their use', { error: describeError(error) })
    }
  }

  #dropOthers(agents: readonly AgentAddress[]): void {
    const present = new Set(agents.map(({ node }) => node))
    for (const node of this.#samples.keys()) if (!present.has(node)) this.#samples.delete(node)
    for (const node of this.#rates.keys()) if (!present.has(node)) this.#rates.delete(node)
  }

  /** Samples one node. A failure is logged once until the agent answers again. */
  async #sample(agent: AgentAddress, signal: AbortSignal): Promise<void> {
    const { node, host, port } = agent
    try {
      const limit = AbortSignal.any([signal, AbortSignal.timeout(this.#timing.agentTimeoutMs)])
      const text = await this.#parts.fetch(agent, limit)
      const samples = parseSamples(text, Date.now())
      const earlier = this.#samples.get(node)
      this.#samples.set(node, samples)
      if (earlier !== undefined)
        this.#rates.set(node, { rates: ratesBetween(earlier, samples), atMs: performance.now() })
      if (this.#failing.delete(node)) this.#parts.log.info('an agent reports its use again', { node })
    } catch (error) {
      if (signal.aborted || this.#failing.has(node)) return
      this.#failing.add(node)
      this.#parts.log.warn('an agent does not report its use', { node, host, port, error: describeError(error) })
    }
  }
}
