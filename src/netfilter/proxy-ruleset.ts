import type { ObjectKey } from '../model/api-object.ts'
import type { DispatchRules, ServiceRules } from './lower-service.ts'
import { chains } from './names.ts'
import { equalChains } from './parse.ts'
import type { Chain, Ruleset, TableChange, TableName } from './ruleset.ts'
import type { ProxyRuleSettings } from './settings.ts'
import { nodePortTail, staticChains } from './static-chains.ts'

interface Dispatch {
  readonly table: TableName
  readonly chain: string
}

const dispatches: Readonly<Record<keyof DispatchRules, Dispatch>> = {
  natServices: { table: 'nat', chain: chains.services },
  natNodePorts: { table: 'nat', chain: chains.nodePorts },
  filterServices: { table: 'filter', chain: chains.services },
  filterNodePorts: { table: 'filter', chain: chains.nodePorts },
}
const parts = ['natServices', 'natNodePorts', 'filterServices', 'filterNodePorts'] as const

const noRules: ServiceRules = {
  chains: new Map(),
  dispatch: { natServices: [], natNodePorts: [], filterServices: [], filterNodePorts: [] },
}

/**
 * All rules of the traffic proxy for one family, kept up to date Service by Service. The rules follow from the Services alone,
 * never from the order in which they came. A change costs what the Service's own chains cost; only where a way in
 * appears or goes (not when one of several endpoints does), the shared chains are put together again.
 */
export class ProxyRuleset {
  readonly #settings: ProxyRuleSettings
  readonly #services = new Map<ObjectKey, ServiceRules>()
  readonly #tables = { nat: new Map<string, Chain>(), filter: new Map<string, Chain>() }

  constructor(settings: ProxyRuleSettings) {
    this.#settings = settings
  }

  /** Everything up to the last `update`; a live view, to be copied by whoever needs to keep it. */
  ruleset(): Ruleset {
    return this.#tables
  }

  /** Takes the new rules of each Service (`undefined`: it is gone) and says which chains differ now; the first call gives the fixed ones too. */
  update(changes: ReadonlyMap<ObjectKey, ServiceRules | undefined>): readonly TableChange[] {
    const writes = {
      nat: new TableWriter('nat', this.#tables.nat),
      filter: new TableWriter('filter', this.#tables.filter),
    }
    const isFirst = this.#tables.nat.size === 0
    const stale = new Set<keyof DispatchRules>(isFirst ? parts : [])
    if (isFirst) writeStaticChains(writes)
    for (const [key, next] of changes) {
      for (const part of this.#replace(key, next, writes.nat)) stale.add(part)
    }
    if (stale.size > 0) this.#rebuildDispatch(stale, writes)
    return [writes.filter.finish(), writes.nat.finish()].filter((change) => change !== undefined)
  }

  /** Returns the shared chains in which the Service's part differs. */
  #replace(key: ObjectKey, next: ServiceRules | undefined, nat: TableWriter): readonly (keyof DispatchRules)[] {
    const previous = this.#services.get(key) ?? noRules
    const wanted = next ?? noRules
    for (const name of previous.chains.keys()) if (!wanted.chains.has(name)) nat.remove(name)
    for (const [name, chain] of wanted.chains) nat.set(name, chain)
    if (next === undefined) this.#services.delete(key)
    else this.#services.set(key, { ...next, dispatch: keepEqualParts(previous.dispatch, next.dispatch) })
    return parts.filter((part) => !equalChains(previous.dispatch[part], wanted.dispatch[part]))
  }

  #rebuildDispatch(stale: ReadonlySet<keyof DispatchRules>, writes: Record<TableName, TableWriter>): void {
    const services = [...this.#services].sort(byKey).map(([, rules]) => rules)
    for (const part of stale) {
      const { table, chain } = dispatches[part]
      const tail = part === 'natServices' ? [nodePortTail(this.#settings.family)] : []
      writes[table].set(chain, [...services.flatMap((rules) => rules.dispatch[part]), ...tail])
    }
  }
}

/** One table, and what has changed in it since this writer was made. */
class TableWriter {
  readonly #table: TableName
  readonly #chains: Map<string, Chain>
  readonly #set = new Map<string, Chain>()
  readonly #removed: string[] = []

  constructor(table: TableName, chains: Map<string, Chain>) {
    this.#table = table
    this.#chains = chains
  }

  set(name: string, chain: Chain): void {
    const held = this.#chains.get(name)
    if (held !== undefined && equalChains(held, chain)) return
    this.#chains.set(name, chain)
    this.#set.set(name, chain)
  }

  remove(name: string): void {
    this.#chains.delete(name)
    this.#removed.push(name)
  }

  finish(): TableChange | undefined {
    if (this.#set.size === 0 && this.#removed.length === 0) return undefined
    return { table: this.#table, set: this.#set, remove: this.#removed }
  }
}

function writeStaticChains(writes: Record<TableName, TableWriter>): void {
  const fixed = staticChains()
  for (const [name, chain] of fixed.nat) writes.nat.set(name, chain)
  for (const [name, chain] of fixed.filter) writes.filter.set(name, chain)
}

/** The same rule objects as before where they are equal: rebuilding a shared chain then compares by reference. */
function keepEqualParts(previous: DispatchRules, next: DispatchRules): DispatchRules {
  const keep = (part: keyof DispatchRules): Chain =>
    equalChains(previous[part], next[part]) ? previous[part] : next[part]
  return {
    natServices: keep('natServices'),
    natNodePorts: keep('natNodePorts'),
    filterServices: keep('filterServices'),
    filterNodePorts: keep('filterNodePorts'),
  }
}

function byKey([a]: readonly [ObjectKey, unknown], [b]: readonly [ObjectKey, unknown]): number {
  return a < b ? -1 : 1
}
