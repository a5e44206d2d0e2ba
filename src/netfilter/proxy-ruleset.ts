import type { ObjectKey } from '../model/api-object.ts'
import { bucketsByDestination, bucketsByPort, DispatchChain, type DispatchLimits, dispatchLimits } from './dispatch.ts'
import type { DispatchRules, ServiceRules } from './lower-service.ts'
import { chains } from './names.ts'
import { equalChains } from './parse.ts'
import type { Chain, Ruleset, TableChange, TableName } from './ruleset.ts'
import { noServiceRules } from './service-steps.ts'
import type { AddressSet, AddressSets } from './sets.ts'
import type { ProxyRuleSettings } from './settings.ts'
import { externalTail, nodePortTail, staticChains } from './static-chains.ts'

const parts = ['natServices', 'natNodePorts', 'filterServices', 'filterExternal', 'filterNodePorts'] as const

/**
 * All rules of the traffic proxy for one family, kept up to date Service by Service. The rules follow from the Services alone,
 * never from the order in which they came (but for the form of a shared chain between the limits of dispatch.ts). A change
 * costs what the Service's own chains cost; only where an address appears or goes (not when one of several endpoints
 * does), the shared chain's bucket is put together again.
 */
export class ProxyRuleset {
  readonly #services = new Map<ObjectKey, ServiceRules>()
  readonly #tables = { nat: new Map<string, Chain>(), filter: new Map<string, Chain>() }
  #sets: AddressSets = new Map()
  readonly #dispatch: Readonly<Record<keyof DispatchRules, DispatchChain>>
  #settings: ProxyRuleSettings
  #isStaticStale = true

  constructor(settings: ProxyRuleSettings, limits: DispatchLimits = dispatchLimits) {
    this.#settings = settings
    this.#dispatch = createDispatch(settings, limits)
  }

  /** Everything up to the last `update`; a live view, to be copied by whoever needs to keep it. */
  ruleset(): Ruleset {
    return this.#tables
  }

  /** The sets that the rules name up to the last `update`; another map exactly when they are others. */
  sets(): AddressSets {
    return this.#sets
  }

  /** The next `update` writes the fixed chains anew where they differ; the Services' rules must be given anew by the caller. */
  configure(settings: ProxyRuleSettings): void {
    this.#settings = settings
    this.#isStaticStale = true
    this.#dispatch.natServices.setTail(nodePortTail(settings))
  }

  /** Takes the new rules of each Service (`undefined`: it is gone) and says which chains differ now; the first call gives the fixed ones too. */
  update(changes: ReadonlyMap<ObjectKey, ServiceRules | undefined>): readonly TableChange[] {
    const steps = this.updateInSteps(changes)
    for (let step = steps.next(); ; step = steps.next()) if (step.done === true) return step.value
  }

  /** The same in many short steps, for whoever has other things to do in between; the last one returns the chains. */
  *updateInSteps(changes: ReadonlyMap<ObjectKey, ServiceRules | undefined>): Generator<void, readonly TableChange[]> {
    const sets = new Map<string, AddressSet | undefined>()
    const writes = {
      nat: new TableChangeBuilder('nat', this.#tables.nat),
      filter: new TableChangeBuilder('filter', this.#tables.filter),
    }
    if (this.#isStaticStale) writeStaticChains(writes, this.#settings)
    this.#isStaticStale = false
    for (const [key, next] of changes) {
      this.#replace(key, next, writes.nat, sets)
      yield
    }
    for (const part of parts) {
      const dispatch = this.#dispatch[part]
      yield* dispatch.write(writes[dispatch.options.table])
    }
    this.#sets = changeSets(this.#sets, sets)
    return [writes.filter.finish(), writes.nat.finish()].filter((change) => change !== undefined)
  }

  #replace(
    key: ObjectKey,
    next: ServiceRules | undefined,
    nat: TableChangeBuilder,
    sets: Map<string, AddressSet | undefined>,
  ): void {
    const previous = this.#services.get(key) ?? noServiceRules
    const wanted = next ?? noServiceRules
    for (const name of previous.chains.keys()) if (!wanted.chains.has(name)) nat.remove(name)
    for (const [name, chain] of wanted.chains) nat.set(name, chain)
    for (const name of previous.sets.keys()) if (!wanted.sets.has(name)) sets.set(name, undefined)
    for (const [name, set] of wanted.sets) sets.set(name, set)
    for (const part of parts) {
      const [before, after] = [previous.dispatch[part], wanted.dispatch[part]]
      if (!equalChains(before, after)) this.#dispatch[part].replace(key, before, after)
    }
    if (next === undefined) this.#services.delete(key)
    else this.#services.set(key, next)
  }
}

function createDispatch(
  settings: ProxyRuleSettings,
  limits: DispatchLimits,
): Record<keyof DispatchRules, DispatchChain> {
  const services = { chain: chains.services, forms: bucketsByDestination('PLAT-DST', limits) }
  const nodePorts = { chain: chains.nodePorts, forms: bucketsByPort('PLAT-PORT', limits) }
  return {
    natServices: new DispatchChain({ table: 'nat', ...services, tail: nodePortTail(settings) }),
    natNodePorts: new DispatchChain({ table: 'nat', ...nodePorts }),
    filterServices: new DispatchChain({ table: 'filter', ...services, tail: externalTail }),
    filterExternal: new DispatchChain({
      table: 'filter',
      chain: chains.external,
      forms: bucketsByDestination('PLAT-XDST', limits),
    }),
    filterNodePorts: new DispatchChain({ table: 'filter', ...nodePorts }),
  }
}

/** `held` itself where nothing differs: there may be tens of thousands. */
function changeSets(held: AddressSets, changes: ReadonlyMap<string, AddressSet | undefined>): AddressSets {
  const differing = [...changes].filter(([name, set]) => JSON.stringify(held.get(name)) !== JSON.stringify(set))
  if (differing.length === 0) return held
  const next = new Map(held)
  for (const [name, set] of differing) {
    if (set === undefined) next.delete(name)
    else next.set(name, set)
  }
  return next
}

/** One table, and what has changed in it since this writer was made. */
class TableChangeBuilder {
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

function writeStaticChains(writes: Record<TableName, TableChangeBuilder>, settings: ProxyRuleSettings): void {
  const fixed = staticChains(settings)
  for (const [name, chain] of fixed.nat) writes.nat.set(name, chain)
  for (const [name, chain] of fixed.filter) writes.filter.set(name, chain)
}
