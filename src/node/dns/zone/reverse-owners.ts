import type { ObjectKey } from '../../../model/api-object.ts'
import type { Ip } from '../../../model/ip.ts'

/** Names that an address leads back to, by one Service. */
export interface ReverseTargets {
  /** A Service's own address leads to it alone, whatever endpoints have the same. */
  readonly isService: boolean
  /** As `latin1` text of the names on the wire, which takes less memory than buffers. */
  readonly targets: readonly string[]
}

/** More fit in no message of 64 KiB. */
const maxTargets = 1000

/**
 * Whose name an address has. Many Services may share endpoints, so each says what it changes of an address, and the address is answered anew once for
 * all of them: the work is that of the addresses that change and of what they lead to.
 */
export class ReverseOwners {
  readonly #owners = new Map<Ip, Map<ObjectKey, ReverseTargets>>()
  /** Most addresses have one owner, and a map for each takes more memory than all else. */
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

  /** The addresses that differ since they were taken last, each with the names it leads to now, in order; one that differs again comes again. */
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

  /** Of several Services with one address of their own, the first by name: what came first shows nowhere. */
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
