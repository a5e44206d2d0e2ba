import { TimeSlice } from '../../loop/time-slice.ts'
import { addHash, emptyXorHash, equalHashes, removeHash, type XorHash } from '../../model/xor-hash.ts'
import { equalChains, type SavedChain } from '../../netfilter/parse.ts'
import type { Chain, Rule, TableChange, TableName } from '../../netfilter/ruleset.ts'
import { hashChain, parseStamp, renderStamp, type Stamp, stateChain } from '../../netfilter/state-chain.ts'
import { targetsOf } from '../../netfilter/target-order.ts'

/** How one of our chains in the kernel differs from what we want. */
export interface Drift {
  readonly table: TableName
  readonly chain: string
  readonly problem: 'missing' | 'different' | 'unwanted'
}

/**
 * The wanted content of one table, and the chains that may differ in the kernel. A chain leaves that set only when a
 * restore that wrote it has succeeded, so nothing is lost by a failure. All work is proportional to what changes.
 */
export class WantedTable {
  readonly name: TableName
  readonly #chains = new Map<string, Chain>()
  #rules: XorHash = emptyXorHash
  /** Chains to write, with what the kernel held of them when last known; undefined for nothing. */
  readonly #unwritten = new Map<string, SavedChain | undefined>()
  /** Undefined while the kernel's is unknown or says nothing. */
  #stampWritten: Stamp | undefined
  #writtenSinceRead = new Set<string>()
  /** Chains that should go and cannot, as rules of others lead to them. */
  readonly #inUse = new Set<string>()

  constructor(name: TableName) {
    this.name = name
  }

  get rules(): XorHash {
    return this.#rules
  }

  /** A live view. */
  get chains(): ReadonlyMap<string, Chain> {
    return this.#chains
  }

  /** Undefined asks for the chain's removal. A chain that is wanted already costs nothing. */
  want(name: string, chain: Chain | undefined): void {
    const before = this.#chains.get(name)
    if (before === chain || (before && chain && equalChains(before, chain))) return
    if (!this.#unwritten.has(name)) this.#unwritten.set(name, before)
    if (before !== undefined) this.#rules = removeHash(this.#rules, hashChain(name, before))
    if (chain === undefined) this.#chains.delete(name)
    else {
      this.#chains.set(name, chain)
      this.#rules = addHash(this.#rules, hashChain(name, chain))
    }
  }

  /** The kernel keeps a chain that should go, for rules of others lead to it: it is emptied instead. False where that was done already. */
  keepInUse(name: string): boolean {
    if (this.#chains.has(name) || this.#inUse.has(name)) return false
    this.#inUse.add(name)
    return true
  }

  /** The kernel is known, by its stamp, to hold all of what is wanted. */
  adopt(): void {
    this.#unwritten.clear()
  }

  /** From here to `compare`, chains that are written are remembered: what was read of them may be older. */
  beginRead(): void {
    this.#writtenSinceRead = new Set()
  }

  /**
   * Which chains `compare` has to look at, because they differ now or await a write. Other work, writes included, gets its turn
   * meanwhile: comparing tens of thousands of chains takes a second.
   */
  async findDiffering(held: ReadonlyMap<string, SavedChain>): Promise<ReadonlySet<string>> {
    const differing = new Set(this.#unwritten.keys())
    const slice = new TimeSlice()
    for (const name of new Set([...this.#chains.keys(), ...held.keys()])) {
      if (describeProblem(held.get(name), this.#wantedOf(name, held.get(name))) !== undefined) differing.add(name)
      if (slice.spent) await slice.pause()
    }
    return differing
  }

  /** Compares with what the kernel was read to hold; whatever differs is to be written. Chains awaiting a write are no drift. */
  compare(held: ReadonlyMap<string, SavedChain>, differing?: ReadonlySet<string>): readonly Drift[] {
    const names = new Set(differing ?? [...this.#chains.keys(), ...held.keys()])
    for (const name of this.#writtenSinceRead) names.delete(name)
    names.delete(stateChain)
    const stamp = this.#writtenSinceRead.has(stateChain) ? [] : this.#compareStamp(held.get(stateChain))
    return [...this.#compareEach(names, held), ...stamp]
  }

  /** Compares a few chains that were read while nothing was written; a chain that `held` lacks is missing in the kernel. */
  compareChains(names: ReadonlySet<string>, held: ReadonlyMap<string, SavedChain>): readonly Drift[] {
    const stamp = names.has(stateChain) ? this.#compareStamp(held.get(stateChain)) : []
    return [
      ...this.#compareEach(
        [...names].filter((name) => name !== stateChain),
        held,
      ),
      ...stamp,
    ]
  }

  #compareEach(names: Iterable<string>, held: ReadonlyMap<string, SavedChain>): readonly Drift[] {
    const drift: Drift[] = []
    for (const chain of names) {
      const problem = describeProblem(held.get(chain), this.#wantedOf(chain, held.get(chain)))
      if (problem !== undefined && !this.#unwritten.has(chain)) drift.push({ table: this.name, chain, problem })
      if (problem !== undefined) this.#unwritten.set(chain, held.get(chain))
      else this.#unwritten.delete(chain)
    }
    return drift
  }

  /** Returns the wanted content of a chain; for one that the kernel cannot delete, none or an empty chain. */
  #wantedOf(name: string, held: SavedChain | undefined): Chain | undefined {
    const isLeft = held !== undefined && this.#inUse.has(name)
    return this.#chains.get(name) ?? (isLeft ? [] : undefined)
  }

  /** Chains that the kernel should hold by now and that the rules of this one lead to, and the chain itself. */
  writtenAround(name: string): readonly string[] {
    const targets = targetsOf(this.#chains.get(name) ?? [])
    return [name, ...targets].filter((each) => !this.#unwritten.has(each))
  }

  /**
   * Everything unwritten, and the stamp where the kernel's is another; undefined where there is nothing to write. Only a table
   * that also tells of filter's rules carries the newest hash of the objects; another gets it along with other changes.
   */
  change(objects: XorHash, filter?: XorHash): TableChange | undefined {
    const set = new Map<string, Chain>()
    const remove: string[] = []
    for (const name of this.#unwritten.keys()) {
      const chain = this.#chains.get(name) ?? (this.#inUse.has(name) ? [] : undefined)
      if (chain === undefined) remove.push(name)
      else set.set(name, chain)
    }
    const stamp = renderStamp(this.#nextStamp(objects, filter))
    const written = this.#stampWritten && renderStamp(this.#stampWritten)
    if (written === undefined || !equalChains(stamp, written)) set.set(stateChain, stamp)
    return set.size === 0 && remove.length === 0 ? undefined : { table: this.name, set, remove }
  }

  /** Whether the kernel is known to hold `heldBefore`: the last restore of the table did not fail. */
  get isKnown(): boolean {
    return this.#stampWritten !== undefined
  }

  #nextStamp(objects: XorHash, filter: XorHash | undefined): Stamp {
    if (filter !== undefined) return { version: 2, objects, rules: this.#rules, filter }
    const known = this.#unwritten.size > 0 ? objects : this.#stampWritten?.objects
    return { version: 2, objects: known ?? objects, rules: this.#rules }
  }

  /** Returns the content of a chain in the kernel before the pending writes; undefined for none. */
  heldBefore(name: string): SavedChain | undefined {
    return this.#unwritten.get(name)
  }

  /** The rules of `heldBefore` that we know how to write. */
  knownBefore(name: string): Chain {
    return (this.heldBefore(name) ?? []).filter((rule): rule is Rule => !('unparsed' in rule))
  }

  /** The kernel took this change. */
  confirm(change: TableChange): void {
    for (const name of namesOf(change)) {
      this.#unwritten.delete(name)
      this.#writtenSinceRead.add(name)
    }
    const stamp = change.set.get(stateChain)
    if (stamp !== undefined) this.setStamp(parseStamp(stamp))
  }

  /** The kernel may or may not have taken this change; it stays unwritten. */
  invalidate(change: TableChange): void {
    for (const name of namesOf(change)) this.#writtenSinceRead.add(name)
    this.setStamp(undefined)
  }

  /** Whether a stamp vouches for exactly what is wanted. */
  agreesWith(stamp: Stamp | undefined): boolean {
    return stamp !== undefined && equalHashes(stamp.rules, this.#rules)
  }

  /** The stamp that the kernel is known to hold. */
  setStamp(stamp: Stamp | undefined): void {
    this.#stampWritten = stamp
  }

  #compareStamp(held: SavedChain | undefined): readonly Drift[] {
    if (this.#stampWritten === undefined) return []
    const problem = describeProblem(held, renderStamp(this.#stampWritten))
    if (problem === undefined) return []
    this.#stampWritten = undefined
    return [{ table: this.name, chain: stateChain, problem }]
  }
}

function namesOf(change: TableChange): readonly string[] {
  return [...change.set.keys(), ...change.remove]
}

function describeProblem(held: SavedChain | undefined, wanted: Chain | undefined): Drift['problem'] | undefined {
  if (held === undefined) return wanted === undefined ? undefined : 'missing'
  if (wanted === undefined) return 'unwanted'
  return equalChains(held, wanted) ? undefined : 'different'
}
