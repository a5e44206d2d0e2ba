import type { ObjectKey } from '../../model/api-object.ts'
import type { Ip } from '../../model/ip.ts'
import type { ProxyRuleSettings } from '../settings.ts'
import { maxEndpoints, parseClassid } from './address-data.ts'
import { hairpinOf, noElements, unpack, unpackLine } from './packed-elements.ts'
import { renderTable } from './render-table.ts'
import { balanceSets, timeoutOf } from './set-specs.ts'
import type { ElementChange, NftChange, NftTable, ServiceElements, SetElement, TableShape } from './types.ts'

/** Elements that Services share go in changes of this size, so that the caller can write them in slices. */
const sharedPerChange = 200

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

  /** Every element of the wanted table, once. */
  *all(): Iterable<SetElement> {
    for (const { own } of this.#services.values()) yield* unpack(own)
    for (const address of this.#endpointAddresses.keys()) yield hairpinOf(address)
  }

  /** Takes the new elements of Services (`undefined`: none) and returns what differs now. */
  update(changes: ReadonlyMap<ObjectKey, ServiceElements | undefined>): NftChange {
    const steps = this.updateInSteps(changes)
    for (let step = steps.next(); ; step = steps.next()) if (step.done === true) return step.value
  }

  /** Does what `update` does in many short steps, so that the caller can pause between them. */
  *updateInSteps(changes: ReadonlyMap<ObjectKey, ServiceElements | undefined>): Generator<void, NftChange> {
    const differences = new DifferenceBuilder()
    for (const [key, next] of changes) {
      const before = this.#services.get(key) ?? noElements
      const wanted = next ?? noElements
      if (next === undefined) this.#services.delete(key)
      else this.#services.set(key, next)
      differences.addService(key, before, wanted)
      this.#count(before.endpointAddresses, -1, differences)
      this.#count(wanted.endpointAddresses, 1, differences)
      yield
    }
    this.#grow(differences)
    const isNew = this.#handedOver !== this.#table.version
    this.#handedOver = this.#table.version
    return {
      ...(isNew && { table: this.#table }),
      changes: differences.finish((address) => this.#endpointAddresses.has(address)),
    }
  }

  #count(addresses: readonly Ip[], step: 1 | -1, differences: DifferenceBuilder): void {
    for (const address of addresses) {
      const held = this.#endpointAddresses.get(address) ?? 0
      differences.noteAddress(address, held > 0)
      if (held + step === 0) this.#endpointAddresses.delete(address)
      else this.#endpointAddresses.set(address, held + step)
    }
  }

  #grow({ drawn, timeouts }: DifferenceBuilder): void {
    const drawUpTo = Math.min(maxEndpoints, Math.max(this.#shape.drawUpTo, 2 ** Math.ceil(Math.log2(drawn || 1))))
    const all = timeouts.union(new Set(this.#shape.timeouts))
    if (drawUpTo === this.#shape.drawUpTo && all.size === this.#shape.timeouts.length) return
    this.#shape = { drawUpTo, timeouts: [...all].sort((a, b) => a - b) }
    this.#table = renderTable(this.#settings, this.#shape)
  }
}

const countSets: ReadonlySet<string> = new Set(Object.values(balanceSets).map(({ counts }) => counts))

/** Gathers what one update changes. */
class DifferenceBuilder {
  readonly #services = new Map<ObjectKey, { readonly remove: SetElement[]; readonly add: SetElement[] }>()
  /** Addresses of endpoints that some Service gained or lost, and whether any Service had them before. */
  readonly #addresses = new Map<Ip, boolean>()
  /** The largest number of endpoints that came, and the timeouts. */
  drawn = 0
  readonly timeouts = new Set<number>()

  addService(key: ObjectKey, before: ServiceElements, next: ServiceElements): void {
    if (before.own === next.own) return
    const [old, wanted] = [linesOf(before), linesOf(next)]
    const remove = [...old.difference(wanted)].map(unpackLine)
    const add = [...wanted.difference(old)].map(unpackLine)
    for (const element of add) this.#measure(element)
    this.#services.set(key, { remove, add })
  }

  noteAddress(address: Ip, wasHeld: boolean): void {
    if (!this.#addresses.has(address)) this.#addresses.set(address, wasHeld)
  }

  finish(isHeld: (address: Ip) => boolean): readonly ElementChange[] {
    const gained = [...this.#addresses].filter(([address, wasHeld]) => !wasHeld && isHeld(address))
    const lost = [...this.#addresses].filter(([address, wasHeld]) => wasHeld && !isHeld(address))
    return [
      ...slices(gained).map((add) => ({ service: undefined, remove: [], add })),
      ...this.#changesOfServices(),
      ...slices(lost).map((remove) => ({ service: undefined, remove, add: [] })),
    ]
  }

  /** Services between which a key moves change together, or one of them would add it while it is still the other's. */
  #changesOfServices(): readonly ElementChange[] {
    const losers = new Map<string, ObjectKey>()
    for (const [service, { remove }] of this.#services)
      for (const { set, key } of remove) losers.set(`${set} ${key}`, service)
    const moving = new Set<ObjectKey>()
    for (const [service, { add }] of this.#services) {
      for (const { set, key } of add) {
        const loser = losers.get(`${set} ${key}`)
        if (loser !== undefined && loser !== service) moving.add(loser).add(service)
      }
    }
    const together = { service: undefined, remove: [] as SetElement[], add: [] as SetElement[] }
    const changes: ElementChange[] = []
    for (const [service, { remove, add }] of this.#services) {
      if (moving.has(service)) {
        together.remove.push(...remove)
        together.add.push(...add)
      } else changes.push({ service, remove, add })
    }
    return moving.size === 0 ? changes : [together, ...changes]
  }

  #measure({ set, data }: SetElement): void {
    if (countSets.has(set)) this.drawn = Math.max(this.drawn, parseClassid(data) & maxEndpoints)
    const timeout = timeoutOf(set)
    if (timeout !== undefined) this.timeouts.add(timeout)
  }
}

function linesOf({ own }: ServiceElements): ReadonlySet<string> {
  return new Set(own === '' ? [] : own.split('\n'))
}

function slices(addresses: readonly (readonly [Ip, boolean])[]): readonly (readonly SetElement[])[] {
  return Array.from({ length: Math.ceil(addresses.length / sharedPerChange) }, (_, index) =>
    addresses.slice(index * sharedPerChange, (index + 1) * sharedPerChange).map(([address]) => hairpinOf(address)),
  )
}
