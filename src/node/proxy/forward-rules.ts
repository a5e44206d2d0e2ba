import { Backoff } from '../../loop/backoff.ts'
import { BoundedFrequencyRunner } from '../../loop/bounded-frequency-runner.ts'
import type { Component, Health } from '../../loop/component.ts'
import type { ObjectKey } from '../../model/api-object.ts'
import { describeError } from '../../model/errors.ts'
import { addHash, emptyXorHash, hashItem } from '../../model/xor-hash.ts'
import { forwardHooks } from '../../netfilter/hooks.ts'
import { chains } from '../../netfilter/names.ts'
import type { Ruleset } from '../../netfilter/ruleset.ts'
import type { ProxyRuleSettings } from '../../netfilter/settings.ts'
import { forwardChains } from '../../netfilter/static-chains.ts'
import { tracePacket } from '../../netfilter/trace/trace-packet.ts'
import type { TracedPacket, TracedRule, TracedWorld } from '../../netfilter/trace/types.ts'
import type { Logger } from '../../observe/index.ts'
import type { ChainDifference, RulesWriter } from '../rules/index.ts'
import { ModeHandover } from './mode-handover.ts'

/** The tables of iptables, through its programs. */
export interface ForwardTables {
  /** The writer of the table filter alone, not started. */
  readonly writer: Pick<RulesWriter, 'start' | 'stop' | 'health' | 'sync' | 'write' | 'preview'>
  /** Removes our chains from nat, and from filter but for these. Returns how many there were. */
  readonly removeOthers: (keep: ReadonlySet<string>) => Promise<number>
  /** Tells whether rules of the mode iptables are in nat. */
  readonly hasOthers: () => Promise<boolean>
}

export interface ForwardRulesParts {
  readonly settings: ProxyRuleSettings
  /** Called when it is first needed: to find iptables takes some twenty programs. Resolves with undefined where there is no iptables. */
  readonly open: () => Promise<ForwardTables | undefined>
  readonly log: Logger
}

/**
 * The part of the mode nftables in iptables' filter: rules that accept what other programs' rules and policies there would refuse. The rules of the mode
 * iptables go before the first write, so that comes when the table of nftables is complete. Without iptables there are no rules of others there that
 * would have to be answered.
 */
export class ForwardRules implements Component {
  readonly name: string
  readonly #parts: ForwardRulesParts
  readonly #runner: BoundedFrequencyRunner
  #settings: ProxyRuleSettings
  readonly #handover: ModeHandover
  /** Undefined before the first need, and after a failure. */
  #opening: Promise<ForwardTables | undefined> | undefined
  #tables: ForwardTables | 'none' | undefined
  #areOthersGone = false
  #isFirst = true
  #health: Health = { level: 'unknown', message: 'waits for the table of nftables', sinceMs: 0 }

  constructor(parts: ForwardRulesParts) {
    this.#parts = parts
    this.#settings = parts.settings
    this.name = parts.settings.family === 'IPv4' ? 'forward-rules' : 'forward-rules-ipv6'
    this.#runner = new BoundedFrequencyRunner(() => this.#write(), {
      backoff: new Backoff({ baseMs: 500, maxMs: 30_000 }),
      onError: (error, retryInMs) => this.#onFailure(error, retryInMs),
    })
    const hasOthers = async () => (await (await this.#open())?.hasOthers()) === true
    this.#handover = new ModeHandover({ hasOthers, onDue: () => this.#runner.request(), log: parts.log })
  }

  async start(): Promise<void> {}

  async stop(scope: { signal: AbortSignal }): Promise<void> {
    this.#handover.stop()
    await this.#runner.stop(scope)
    const tables = await this.#opening?.catch(() => undefined)
    await tables?.writer.stop(scope)
  }

  health(): Health {
    const writer = typeof this.#tables === 'object' ? this.#tables.writer.health() : this.#health
    return this.#health.level === 'ok' ? writer : this.#health
  }

  configure(settings: ProxyRuleSettings): void {
    this.#settings = settings
    if (this.#handover.isDue) this.#runner.request()
  }

  /** The table of nftables is complete but for these Services, which it refuses. */
  allow(unserved: readonly ObjectKey[]): void {
    this.#handover.complete(unserved)
  }

  /** How iptables differs from what it should hold; changes nothing. Throws RulesError, `not-synced` before the first write. */
  async preview(): Promise<readonly ChainDifference[]> {
    return typeof this.#tables === 'object' ? this.#tables.writer.preview() : []
  }

  /** The rules that accept the first packet of a connection, as it is after translation; `isMarked`: it is masqueraded. */
  trace(packet: TracedPacket, world: TracedWorld, isMarked: boolean): readonly TracedRule[] {
    if (this.#tables === 'none') return []
    const filter = forwardChains(this.#settings)
    const marked = filter.get(chains.forward)?.[0]
    if (isMarked && marked !== undefined) return [{ table: 'filter', chain: chains.forward, position: 1, rule: marked }]
    const ruleset: Ruleset = { nat: new Map(), filter }
    return tracePacket(packet, { ...world, ruleset, hooks: forwardHooks() }).flatMap(({ rules }) => rules)
  }

  /** A failure is for the next caller to try again. */
  #open(): Promise<ForwardTables | undefined> {
    this.#opening ??= this.#openOnce().catch((error: unknown) => {
      this.#opening = undefined
      throw error
    })
    return this.#opening
  }

  async #openOnce(): Promise<ForwardTables | undefined> {
    const tables = await this.#parts.open()
    await tables?.writer.start({ signal: new AbortController().signal })
    this.#tables = tables ?? 'none'
    return tables
  }

  async #write(): Promise<void> {
    const tables = await this.#open()
    if (tables !== undefined) await this.#writeTo(tables)
    this.#health = { level: 'ok', message: tables === undefined ? 'there is no iptables' : '', sinceMs: Date.now() }
  }

  async #writeTo({ writer, removeOthers }: ForwardTables): Promise<void> {
    const set = forwardChains(this.#settings)
    if (!this.#areOthersGone) {
      const removed = await removeOthers(new Set(set.keys()))
      if (removed > 0) this.#parts.log.info('the rules of the mode iptables were removed', { removed })
      this.#areOthersGone = true
    }
    const objects = addHash(emptyXorHash, hashItem('forward', JSON.stringify([...set])))
    const change = [{ table: 'filter', set, remove: [] }] as const
    await (this.#isFirst ? writer.sync(change, objects) : writer.write(change, objects))
    this.#isFirst = false
  }

  #onFailure(error: unknown, retryInMs: number): void {
    this.#health = { level: 'degraded', message: describeError(error), sinceMs: Date.now() }
    this.#parts.log.warn('the rules that accept forwarded packets in iptables could not be written, will try again', {
      error,
      retryInMs: Math.round(retryInMs),
    })
  }
}
