import type { ObjectKey } from '../../model/api-object.ts'
import type { Ip } from '../../model/ip.ts'
import type { ProxyRuleSettings } from '../settings.ts'
import { maxEndpoints } from './address-data.ts'
import { DifferenceBuilder } from './difference-builder.ts'
import { countElements, hairpinOf, hairpinSlices, noElements, unpack } from './packed-elements.ts'
import { renderTable } from './render-table.ts'
import { ShapeNeeds } from './shape-needs.ts'
import type { ElementChange, NftChange, NftTable, ServiceElements, SetElement, TableShape } from './types.ts'

const leastDrawn = 128

/**
 * The elements of all Services of one family: says which ones change when some Services change. The elements follow from the
 * Services alone, but for the shape of the table, which only grows. An update costs what the Services it names cost.
 */
export class ElementRuleset {
  readonly #services = new Map<ObjectKey, ServiceElements>()
  /** How many Services have an endpoint with this address. */
  readonly #endpointAddresses = new Map<Ip, number>()
  #settings: ProxyRuleSettings
  #shape: TableShape = { drawUpTo: leastDrawn, timeouts: [] }
  #table: NftTable
  /** Grows with each update. */
  generation = 0
  /** The version that `update` handed over last. */
  #handedOver: string | undefined

  constructor(settings: ProxyRuleSettings) {
    this.#settings = settings
    this.#table = renderTable(settings, this.#shape)
  }

  /** The table as of the last `update` or `configure`. */
  get table(): NftTable {
    return this.#table
  }

  /** The next `update` hands over the table if it differs; the caller must update all Services with elements of these settings. */
  configure(settings: ProxyRuleSettings): void {
    this.#settings = settings
    this.#table = renderTable(settings, this.#shape)
  }

  elementsOf(service: ObjectKey): ServiceElements | undefined {
    return this.#services.get(service)
  }

  /** How many elements the wanted table has, but that those of an endpoint's address count for each Service. */
  get size(): number {
    return this.#services.values().reduce((sum, elements) => sum + countElements(elements), 0)
  }

  /** Every element of the wanted table, once. */
  *all(): Iterable<SetElement> {
    for (const { own } of this.#services.values()) yield* unpack(own)
    for (const address of this.#endpointAddresses.keys()) yield hairpinOf(address)
  }

  /** Adds everything to an empty table, a Service at a time. */
  *additions(): Iterable<ElementChange> {
    for (const add of hairpinSlices([...this.#endpointAddresses.keys()])) yield { service: undefined, remove: [], add }
    for (const [service, { own }] of this.#services) yield { service, remove: [], add: unpack(own) }
  }

  /** Takes the new elements of Services (`undefined`: none) and returns what differs now. */
  update(changes: ReadonlyMap<ObjectKey, ServiceElements | undefined>): NftChange {
    const steps = this.updateInSteps(changes)
    for (let step = steps.next(); ; step = steps.next()) if (step.done === true) return step.value
  }

  /**
   * Takes the new elements of Services in many short steps. What differs is not gathered, for a caller whose table is written as a whole, or compared
   * with all elements. Returns the table where the caller has not got this one yet.
   */
  *fillInSteps(changes: ReadonlyMap<ObjectKey, ServiceElements | undefined>): Generator<void, NftTable | undefined> {
    this.generation += 1
    const needs = new ShapeNeeds()
    for (const [key, next] of changes) {
      const before = this.#services.get(key) ?? noElements
      this.#put(key, next)
      if (next !== undefined) needs.measure(next.own)
      for (const address of before.endpointAddresses) this.#hold(address, -1)
      for (const address of next?.endpointAddresses ?? []) this.#hold(address, 1)
      yield
    }
    this.#grow(needs)
    return this.#handOver()
  }

  /** Does what `update` does in many short steps, so that the caller can pause between them. */
  *updateInSteps(changes: ReadonlyMap<ObjectKey, ServiceElements | undefined>): Generator<void, NftChange> {
    this.generation += 1
    const differences = new DifferenceBuilder()
    for (const [key, next] of changes) {
      const before = this.#services.get(key) ?? noElements
      const wanted = next ?? noElements
      this.#put(key, next)
      differences.addService(key, before, wanted)
      this.#count(before.endpointAddresses, -1, differences)
      this.#count(wanted.endpointAddresses, 1, differences)
      yield
    }
    this.#grow(differences.needs)
    const table = this.#handOver()
    return {
      ...(table !== undefined && { table }),
      changes: differences.finish((address) => this.#endpointAddresses.has(address)),
    }
  }

  #put(key: ObjectKey, next: ServiceElements | undefined): void {
    if (next === undefined) this.#services.delete(key)
    else this.#services.set(key, next)
  }

  #handOver(): NftTable | undefined {
    if (this.#handedOver === this.#table.version) return undefined
    this.#handedOver = this.#table.version
    return this.#table
  }

  #count(addresses: readonly Ip[], step: 1 | -1, differences: DifferenceBuilder): void {
    for (const address of addresses) differences.noteAddress(address, this.#hold(address, step))
  }

  /** Returns whether any Service had the address. */
  #hold(address: Ip, step: 1 | -1): boolean {
    const held = this.#endpointAddresses.get(address) ?? 0
    if (held + step === 0) this.#endpointAddresses.delete(address)
    else this.#endpointAddresses.set(address, held + step)
    return held > 0
  }

  #grow({ drawn, timeouts }: ShapeNeeds): void {
    const drawUpTo = Math.min(maxEndpoints, Math.max(this.#shape.drawUpTo, 2 ** Math.ceil(Math.log2(drawn || 1))))
    const all = timeouts.union(new Set(this.#shape.timeouts))
    if (drawUpTo === this.#shape.drawUpTo && all.size === this.#shape.timeouts.length) return
    this.#shape = { drawUpTo, timeouts: [...all].sort((a, b) => a - b) }
    this.#table = renderTable(this.#settings, this.#shape)
  }
}
