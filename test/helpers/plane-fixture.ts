import type { TestContext } from 'node:test'
import { equalHashes, type XorHash } from '../../src/model/xor-hash.ts'
import { renderRule } from '../../src/netfilter/render.ts'
import type { Chain, Ruleset, TableChange } from '../../src/netfilter/ruleset.ts'
import { createProxyMetrics, IptablesMode, ProxyPlane } from '../../src/node/proxy/index.ts'
import type { ProxyPlaneParts } from '../../src/node/proxy/plane-parts.ts'
import type { ProxySettings } from '../../src/node/proxy/service-plans.ts'
import { RulesError, type WriteReport } from '../../src/node/rules/index.ts'
import { AppliedRevisions, LiveNodeState, type WatchedResource } from '../../src/node/state/index.ts'
import { readObject } from '../../src/node/state/stored-object.ts'
import { createMetrics, silentLogger } from '../../src/observe/index.ts'
import { applyChanges } from './rulesets.ts'
import { dialect, type WireFixture, wireService, wireSlice } from './wire-objects.ts'

const report: WriteReport = {
  kind: 'written',
  bytes: 100,
  durationMs: 1,
  chainsSet: 1,
  chainsRemoved: 0,
  restores: 1,
  rules: { nat: 3, filter: 1, mangle: 0 },
}

/** A fake kernel that records its input and refuses as many writes as the test asks for. */
export class FakeWriter {
  readonly syncs: XorHash[] = []
  /** The hash of the objects that came with each call. */
  readonly stamps: XorHash[] = []
  /** What PLAT-STATE tells after a restart. */
  stamp: XorHash | undefined
  /** The first sync waits for it. */
  gate: Promise<void> = Promise.resolve()
  readonly writes: (readonly TableChange[])[] = []
  refusals = 0
  syncTakesMs = 0
  /** Refuses every write that carries such a chain or rule; says the line only where it `tells`. */
  poison: RegExp | undefined
  tells = true
  /** What the kernel holds of nat. */
  readonly nat = new Map<string, Chain>()
  /** What the tables should hold by all that came. */
  wanted: Ruleset = { nat: new Map(), filter: new Map() }
  #unwritten: TableChange[] = []

  async recognises(objects: XorHash): Promise<boolean> {
    return this.stamp !== undefined && equalHashes(this.stamp, objects)
  }

  async isUnhooked(): Promise<boolean> {
    return this.nat.size === 0
  }

  async sync(changes: readonly TableChange[], objects: XorHash): Promise<WriteReport> {
    this.syncs.push(objects)
    this.stamps.push(objects)
    await this.gate
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, this.syncTakesMs)
    return this.#take(changes)
  }

  async write(changes: readonly TableChange[], objects: XorHash): Promise<WriteReport> {
    this.stamps.push(objects)
    this.writes.push(changes)
    return this.#take(changes)
  }

  #take(changes: readonly TableChange[]): WriteReport {
    this.wanted = applyChanges(this.wanted, changes)
    this.#unwritten.push(...changes.filter(({ table }) => table === 'nat'))
    if (this.refusals > 0) {
      this.refusals -= 1
      throw new Error('the lock is held by another program')
    }
    const next = new Map(this.nat)
    for (const { set, remove } of this.#unwritten) {
      for (const [name, chain] of set) next.set(name, chain)
      for (const name of remove) next.delete(name)
    }
    this.#refusePoison(next)
    for (const name of this.nat.keys()) if (!next.has(name)) this.nat.delete(name)
    for (const [name, chain] of next) this.nat.set(name, chain)
    this.#unwritten = []
    return report
  }

  #refusePoison(chains: ReadonlyMap<string, Chain>): void {
    for (const [chain, rules] of chains) {
      for (const rule of rules) {
        const text = renderRule(chain, rule)
        if (!this.poison?.test(text)) continue
        const line = { number: 3, text, table: 'nat', chain }
        throw new RulesError('restore-failed', 'writing rules failed', this.tells ? { line } : {})
      }
    }
  }

  /** Changes that it was given and that the kernel has not taken. */
  get unwritten(): number {
    return this.#unwritten.length
  }

  /** The addresses that the kernel's rules lead to. */
  endpoints(): string[] {
    const targets = [...this.nat.values()].flat().map(({ target }) => (target?.kind === 'dnat' ? target.address : ''))
    return targets.filter((address) => address !== '').sort()
  }
}

/** A node's state with the plane of one family on it. */
export class Node {
  readonly state = new LiveNodeState(silentLogger)
  readonly writer = new FakeWriter()
  readonly applied = new AppliedRevisions(this.state)
  readonly registry = createMetrics()
  readonly metrics = createProxyMetrics(this.registry)('IPv4')
  readonly refused: string[] = []
  /** The Services of each call of `onApplied`. */
  readonly settled: (readonly string[])[] = []
  /** The Services of each call of `onOvertaken`. */
  readonly overtaken: (readonly string[])[] = []
  readonly plane: ProxyPlane

  constructor(more: Partial<ProxySettings> = {}, parts: Pick<ProxyPlaneParts, 'maxServiceRules'> = {}) {
    this.applied.register('proxy')
    const settings = { nodeName: 'n1', family: 'IPv4', ...more } as const
    const onRefused = ({ service }: { service: string }) => this.refused.push(service)
    const onApplied = (services: readonly string[]) => this.settled.push(services)
    const onOvertaken = (services: readonly string[]) => this.overtaken.push(services)
    this.plane = new ProxyPlane({
      ...this,
      ...parts,
      mode: new IptablesMode('IPv4', this.writer),
      settings,
      log: silentLogger,
      onRefused,
      onApplied,
      onOvertaken,
    })
  }

  replace(resource: WatchedResource, ...objects: WireFixture[]): void {
    const parsed = objects.map((object) => readObject(resource, object, dialect))
    this.state.replace(resource, parsed, '10')
  }

  upsert(resource: WatchedResource, object: WireFixture): void {
    this.state.upsert(resource, readObject(resource, object, dialect))
  }

  listEverything(): void {
    this.replace('services', wireService('web', '1'), wireService('db', '2', { clusterIP: '10.96.0.11' }))
    this.replace('endpointslices', wireSlice('web-1', 'web', '3'))
    this.replace('endpoints')
  }

  appliedRevision(): number | undefined {
    return this.applied.report().planes['proxy']
  }
}

/** Stopped also where the test fails: a plane that retries would keep the process alive. */
export function newNode(
  t: TestContext,
  settings: Partial<ProxySettings> = {},
  parts: Pick<ProxyPlaneParts, 'maxServiceRules'> = {},
): Node {
  const node = new Node(settings, parts)
  t.after(() => node.plane.stop({ signal: AbortSignal.timeout(1000) }))
  return node
}
