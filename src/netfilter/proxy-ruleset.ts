import type { ObjectKey } from '../model/api-object.ts'
import { bucketsByDestination, bucketsByPort, DispatchChain, type DispatchLimits, dispatchLimits } from './dispatch.ts'
import type { DispatchRules, ServiceRules } from './lower-service.ts'
import { chains } from './names.ts'
import { equalChains } from './parse.ts'
import type { Chain, ProxyTable, TableChange } from './ruleset.ts'
import { noServiceRules } from './service-steps.ts'
import type { AddressSet, AddressSets } from './sets.ts'
import type { ProxyRuleSettings } from './settings.ts'
import { externalTail, nodePortTail, staticChains } from './static-chains.ts'

const parts = ['natServices', 'natNodePorts', 'filterServices', 'filterExternal', 'filterNodePorts'] as const

type ServiceChanges = ReadonlyMap<ObjectKey, ServiceRules | undefined>

/**
 * The rules of all Services of one family: says which chains change when some Services change. It holds the rules by Service and
 * by bucket, but no tables. The chains follow from the Services alone, never from the order in which they came (but for the form
 * of a shared chain between the limits of dispatch.ts). A change costs what the Service's own chains cost; a bucket of a shared
 * chain is put together again only where an address appears or goes (not when one of several endpoints does).
 */
export class ProxyRuleset {
  readonly #services = new Map<ObjectKey, ServiceRules>()
  #sets: AddressSets = new Map()
  readonly #dispatch: Readonly<Record<keyof DispatchRules, DispatchChain>>
  #settings: ProxyRuleSettings
  /** The settings of the static chains as they were handed over last. */
  #staticSettings: ProxyRuleSettings | undefined

  constructor(settings: ProxyRuleSettings, limits: DispatchLimits = dispatchLimits) {
    this.#settings = settings
    this.#dispatch = createDispatch(settings, limits, (part) => this.#rulesIn(part))
  }

  /** The rules of a Service as of the last `update`. */
  rulesOf(service: ObjectKey): ServiceRules | undefined {
    return this.#services.get(service)
  }

  /** The sets that the rules name as of the last `update`; another map exactly when they are others. */
  sets(): AddressSets {
    return this.#sets
  }

  /** The next `update` hands over the static chains that differ; the caller must update all Services with rules of these settings. */
  configure(settings: ProxyRuleSettings): void {
    this.#settings = settings
    this.#dispatch.natServices.setTail(nodePortTail(settings))
  }

  /** Takes the new rules of Services (`undefined`: none) and returns the chains that differ now; all chains the first time. */
  update(changes: ServiceChanges): readonly TableChange[] {
    const steps = this.updateInSteps(changes)
    for (let step = steps.next(); ; step = steps.next()) if (step.done === true) return step.value
  }

  /** Does what `update` does in many short steps, so that the caller can pause between them; the last one returns the chains. */
  *updateInSteps(changes: ServiceChanges): Generator<void, readonly TableChange[]> {
    const sets = new Map<string, AddressSet | undefined>()
    const tables = { nat: new TableChangeBuilder('nat'), filter: new TableChangeBuilder('filter') }
    this.#updateStaticChains(tables)
    for (const [key, next] of changes) {
      this.#replace(key, next, tables.nat, sets)
      yield
    }
    for (const part of parts) {
      const dispatch = this.#dispatch[part]
      yield* dispatch.write(tables[dispatch.options.table])
    }
    this.#sets = changeSets(this.#sets, sets)
    return [tables.filter.finish(), tables.nat.finish()].filter((change) => change !== undefined)
  }

  #updateStaticChains(tables: Record<ProxyTable, TableChangeBuilder>): void {
    if (this.#staticSettings === this.#settings) return
    const before = this.#staticSettings && staticChains(this.#staticSettings)
    const after = staticChains(this.#settings)
    for (const table of ['nat', 'filter'] as const) tables[table].replace(before?.[table] ?? new Map(), after[table])
    this.#staticSettings = this.#settings
  }

  #replace(
    key: ObjectKey,
    next: ServiceRules | undefined,
    nat: TableChangeBuilder,
    sets: Map<string, AddressSet | undefined>,
  ): void {
    const previous = this.#services.get(key) ?? noServiceRules
    const wanted = next ?? noServiceRules
    nat.replace(previous.chains, wanted.chains)
    for (const name of previous.sets.keys()) if (!wanted.sets.has(name)) sets.set(name, undefined)
    for (const [name, set] of wanted.sets) sets.set(name, set)
    for (const part of parts) this.#dispatch[part].replace(key, previous.dispatch[part], wanted.dispatch[part])
    if (next === undefined) this.#services.delete(key)
    else this.#services.set(key, next)
  }

  *#rulesIn(part: keyof DispatchRules): Iterable<readonly [ObjectKey, Chain]> {
    for (const [key, { dispatch }] of this.#services) yield [key, dispatch[part]]
  }
}

function createDispatch(
  settings: ProxyRuleSettings,
  limits: DispatchLimits,
  rulesIn: (part: keyof DispatchRules) => Iterable<readonly [ObjectKey, Chain]>,
): Record<keyof DispatchRules, DispatchChain> {
  const services = { chain: chains.services, forms: bucketsByDestination('PLAT-DST', limits) }
  const nodePorts = { chain: chains.nodePorts, forms: bucketsByPort('PLAT-PORT', limits) }
  const external = { chain: chains.external, forms: bucketsByDestination('PLAT-XDST', limits) }
  const rules = (part: keyof DispatchRules) => ({ rules: () => rulesIn(part) })
  return {
    natServices: new DispatchChain({
      table: 'nat',
      ...services,
      ...rules('natServices'),
      tail: nodePortTail(settings),
    }),
    natNodePorts: new DispatchChain({ table: 'nat', ...nodePorts, ...rules('natNodePorts') }),
    filterServices: new DispatchChain({
      table: 'filter',
      ...services,
      ...rules('filterServices'),
      tail: externalTail,
    }),
    filterExternal: new DispatchChain({ table: 'filter', ...external, ...rules('filterExternal') }),
    filterNodePorts: new DispatchChain({ table: 'filter', ...nodePorts, ...rules('filterNodePorts') }),
  }
}

/** Returns `held` itself where nothing differs: there may be tens of thousands of sets. */
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

/** Gathers what changes in one table. */
class TableChangeBuilder {
  readonly #table: ProxyTable
  readonly #set = new Map<string, Chain>()
  readonly #removed = new Set<string>()

  constructor(table: ProxyTable) {
    this.#table = table
  }

  set(name: string, chain: Chain): void {
    this.#set.set(name, chain)
    this.#removed.delete(name)
  }

  remove(name: string): void {
    this.#set.delete(name)
    this.#removed.add(name)
  }

  /** The chains that differ between two states of the same owner. */
  replace(before: ReadonlyMap<string, Chain>, after: ReadonlyMap<string, Chain>): void {
    for (const name of before.keys()) if (!after.has(name)) this.remove(name)
    for (const [name, chain] of after) {
      const held = before.get(name)
      if (held === undefined || !equalChains(held, chain)) this.set(name, chain)
    }
  }

  finish(): TableChange | undefined {
    if (this.#set.size === 0 && this.#removed.size === 0) return undefined
    return { table: this.#table, set: this.#set, remove: [...this.#removed] }
  }
}
