import type { ObjectKey } from '../../../model/api-object.ts'
import type { Ip } from '../../../model/ip.ts'

/** The names that one Service gives to an address. */
export interface ReverseTargets {
  /** The address is the Service's own: it leads to that Service alone, even where endpoints have the same address. */
  readonly isService: boolean
  /** The names in wire form as `latin1` text, which takes less memory than buffers. */
  readonly targets: readonly string[]
}

/** More names fit in no message of 64 KiB. */
const maxTargets = 1000

/**
 * Keeps the names that each address leads back to. Many Services may share endpoints, so each Service replaces its own part, and the address is
 * answered once for all of them: the work is that of the addresses that change and of the names they lead to.
 */
export class ReverseIndex {
  readonly #owners = new Map<Ip, Map<ObjectKey, ReverseTargets>>()
  /** The addresses with one Service. Most have only one, and a map for each would take more memory than everything else. */
  readonly #only = new Map<Ip, readonly [owner: ObjectKey, targets: ReverseTargets]>()
  readonly #changed = new Set<Ip>()

  put(address: Ip, owner: ObjectKey, targets: ReverseTargets): void {
    const before = this.#get(address, owner)
    if (before !== undefined && isSame(before, targets)) return
    this.#changed.add(address)
    const only = this.#only.get(address)
    const several = this.#owners.get(address)
    if (several !== undefined) several.set(owner, targets)
    else if (only === undefined || only[0] === owner) this.#only.set(address, [owner, targets])
    else {
      this.#only.delete(address)
      this.#owners.set(address, new Map([only, [owner, targets]]))
    }
  }

  remove(address: Ip, owner: ObjectKey): void {
    if (this.#get(address, owner) === undefined) return
    this.#changed.add(address)
    const several = this.#owners.get(address)
    if (several === undefined) this.#only.delete(address)
    else if (several.delete(owner) && several.size === 0) this.#owners.delete(address)
  }

  /**
   * Takes the addresses that changed since the last call, each with the names it leads to now, in order. An address that changes again is taken
   * again.
   */
  *takeChanged(): Generator<readonly [address: Ip, targets: readonly string[]], void> {
    for (const address of this.#changed) {
      this.#changed.delete(address)
      yield [address, this.#targetsOf(address)]
    }
  }

  #get(address: Ip, owner: ObjectKey): ReverseTargets | undefined {
    const only = this.#only.get(address)
    return only?.[0] === owner ? only[1] : this.#owners.get(address)?.get(owner)
  }

  /** Returns the names of an address. Of several Services with that address, the first by name counts, whichever came first. */
  #targetsOf(address: Ip): readonly string[] {
    const only = this.#only.get(address)
    const owners = only === undefined ? [...(this.#owners.get(address) ?? [])] : [only]
    const [service] = owners.filter(([, { isService }]) => isService).sort(([a], [b]) => (a < b ? -1 : 1))
    const all = service === undefined ? owners : [service]
    const targets = new Set(all.flatMap(([, each]) => each.targets))
    return [...targets].sort().slice(0, maxTargets)
  }
}

function isSame(a: ReverseTargets, b: ReverseTargets): boolean {
  return (
    a.isService === b.isService &&
    a.targets.length === b.targets.length &&
    a.targets.every((target, index) => target === b.targets[index])
  )
}
