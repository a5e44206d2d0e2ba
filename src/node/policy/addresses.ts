import type { ObjectKey } from '../../model/api-object.ts'
import type { Ip } from '../../model/ip.ts'

/** The strength of a claim: the first number that differs decides, and the larger one is stronger. */
type Rank = readonly number[]

/** Which pod an address belongs to, where several claim it: a pod that is gone, or going, may still name what another has. */
export class Addresses {
  readonly #rankOf: (key: ObjectKey) => Rank
  readonly #claims = new Map<ObjectKey, readonly Ip[]>()
  readonly #owners = new Map<Ip, ObjectKey>()
  /** The others that claim an address: hardly ever any. */
  readonly #others = new Map<Ip, ReadonlySet<ObjectKey>>()

  /** `rankOf`: how strong the claims of a pod are, asked when one of them is made. */
  constructor(rankOf: (key: ObjectKey) => Rank) {
    this.#rankOf = rankOf
  }

  ownerOf(address: Ip): ObjectKey | undefined {
    return this.#owners.get(address)
  }

  /** The addresses that a pod claims and has. */
  of(key: ObjectKey): readonly Ip[] {
    const claimed = this.#claims.get(key) ?? []
    return claimed.every((ip) => this.#owners.get(ip) === key)
      ? claimed
      : claimed.filter((ip) => this.#owners.get(ip) === key)
  }

  /** Replaces the claims of a pod, or makes them anew for its new rank. Returns the other pods that gained or lost an address. */
  claim(key: ObjectKey, addresses: readonly Ip[]): readonly ObjectKey[] {
    const before = this.#claims.get(key) ?? []
    if (addresses.length === 0) this.#claims.delete(key)
    else this.#claims.set(key, addresses)
    const concerned = new Set<ObjectKey>()
    for (const address of new Set([...before, ...addresses])) {
      const claimants = new Set(this.#others.get(address) ?? [])
      const owner = this.#owners.get(address)
      if (owner !== undefined) claimants.add(owner)
      if (addresses.includes(address)) claimants.add(key)
      else claimants.delete(key)
      const next = this.#settle(address, claimants)
      for (const each of [owner, next]) if (each !== undefined && owner !== next && each !== key) concerned.add(each)
    }
    return [...concerned]
  }

  /** Returns the owner. */
  #settle(address: Ip, claimants: ReadonlySet<ObjectKey>): ObjectKey | undefined {
    const [owner, ...others] = [...claimants].sort((one, other) => this.#compare(other, one))
    if (owner === undefined) this.#owners.delete(address)
    else this.#owners.set(address, owner)
    if (others.length === 0) this.#others.delete(address)
    else this.#others.set(address, new Set(others))
    return owner
  }

  #compare(one: ObjectKey, other: ObjectKey): number {
    const [a, b] = [this.#rankOf(one), this.#rankOf(other)]
    const differing = a.findIndex((number, index) => number !== b[index])
    if (differing >= 0) return (a[differing] ?? 0) - (b[differing] ?? 0)
    return one < other ? -1 : 1
  }
}
