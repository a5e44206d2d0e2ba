import type { ObjectKey } from '../../model/api-object.ts'
import type { Ip } from '../../model/ip.ts'
import { hairpinSlices, unpack } from './packed-elements.ts'
import { ShapeNeeds } from './shape-needs.ts'
import type { ElementChange, ServiceElements, SetElement } from './types.ts'

/** Gathers what one update changes. */
export class DifferenceBuilder {
  readonly #services: PackedChange[] = []
  /** Addresses of endpoints that some Service gained or lost, and whether any Service had them before. */
  readonly #addresses = new Map<Ip, boolean>()
  /** Measures the elements that came. */
  readonly needs = new ShapeNeeds()

  addService(service: ObjectKey, before: ServiceElements, next: ServiceElements): void {
    if (before.own === next.own) return
    const added = linesWithout(next.own, before.own)
    this.needs.measure(added)
    this.#services.push(new PackedChange(service, linesWithout(before.own, next.own), added))
  }

  noteAddress(address: Ip, wasHeld: boolean): void {
    if (!this.#addresses.has(address)) this.#addresses.set(address, wasHeld)
  }

  /** Additions of shared elements come first, removals last: each may be a transaction of its own. */
  finish(isHeld: (address: Ip) => boolean): readonly ElementChange[] {
    const gained: Ip[] = []
    const lost: Ip[] = []
    for (const [address, wasHeld] of this.#addresses) {
      if (wasHeld !== isHeld(address)) (wasHeld ? lost : gained).push(address)
    }
    return [
      ...Array.from(hairpinSlices(gained), (add) => ({ service: undefined, remove: [], add })),
      ...this.#changesOfServices(),
      ...Array.from(hairpinSlices(lost), (remove) => ({ service: undefined, remove, add: [] })),
    ]
  }

  /** Services between which a key moves change together, or one of them would add it while it is still the other's. */
  #changesOfServices(): readonly ElementChange[] {
    const losers = new Map<string, PackedChange>()
    for (const change of this.#services) for (const { set, key } of change.remove) losers.set(`${set} ${key}`, change)
    if (losers.size === 0 || this.#services.length === 1) return this.#services
    const moving = new Set<PackedChange>()
    for (const change of this.#services) {
      for (const { set, key } of change.add) {
        const loser = losers.get(`${set} ${key}`)
        if (loser !== undefined && loser !== change) moving.add(loser).add(change)
      }
    }
    if (moving.size === 0) return this.#services
    const remove = [...moving].flatMap((change) => change.remove)
    const add = [...moving].flatMap((change) => change.add)
    return [{ service: undefined, remove, add }, ...this.#services.filter((change) => !moving.has(change))]
  }
}

/** Many Services may change at once, so the elements of a change are made when they are asked for. */
class PackedChange implements ElementChange {
  readonly service: ObjectKey
  readonly #removed: string
  readonly #added: string

  constructor(service: ObjectKey, removed: string, added: string) {
    this.service = service
    this.#removed = removed
    this.#added = added
  }

  get remove(): readonly SetElement[] {
    return unpack(this.#removed)
  }

  get add(): readonly SetElement[] {
    return unpack(this.#added)
  }
}

/** The lines of one packed text that another has not. */
function linesWithout(own: string, other: string): string {
  if (own === '' || other === '') return own
  const known = new Set(other.split('\n'))
  return own
    .split('\n')
    .filter((line) => !known.has(line))
    .join('\n')
}
