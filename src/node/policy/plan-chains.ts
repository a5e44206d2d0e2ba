import type { Stages } from '../../loop/time-slice.ts'
import type { IpFamily } from '../../model/ip.ts'
import { addHash, emptyXorHash, hashItem, removeHash, type XorHash } from '../../model/xor-hash.ts'
import { equalChains } from '../../netfilter/parse.ts'
import { renderRule } from '../../netfilter/render.ts'
import type { Chain, TableChange } from '../../netfilter/ruleset.ts'

interface PlannedChain {
  readonly chain: Chain
  readonly hash: bigint
}

/** The chains of mangle in one family. A step ends with `finish`, which says what differs from the end of the step before. */
export class PlannedChains {
  readonly #family: IpFamily
  readonly #chains = new Map<string, PlannedChain>()
  readonly #changes = new Map<string, Chain | undefined>()
  #hash: XorHash = emptyXorHash

  constructor(family: IpFamily) {
    this.#family = family
  }

  /** A hash of all chains as of the last `finish`, whatever order they came in. */
  get hash(): XorHash {
    return this.#hash
  }

  *chains(): Iterable<readonly [name: string, chain: Chain]> {
    for (const [name, { chain }] of this.#chains) yield [name, chain]
  }

  put(name: string, chain: Chain): void {
    this.#changes.set(name, chain)
  }

  delete(name: string): void {
    this.#changes.set(name, undefined)
  }

  /** Ends the step, with a pause after each chain; undefined where no chain differs. */
  *finish(): Stages<TableChange | undefined> {
    const set = new Map<string, Chain>()
    const remove: string[] = []
    for (const [name, next] of this.#changes) {
      const before = this.#chains.get(name)
      if (next === undefined ? before === undefined : before && equalChains(before.chain, next)) continue
      if (before !== undefined) this.#hash = removeHash(this.#hash, before.hash)
      if (next === undefined) {
        this.#chains.delete(name)
        remove.push(name)
      } else {
        this.#take(name, next)
        set.set(name, next)
      }
      yield
    }
    this.#changes.clear()
    return set.size === 0 && remove.length === 0 ? undefined : { table: 'mangle', set, remove }
  }

  #take(name: string, chain: Chain): void {
    const text = chain.map((rule) => renderRule(name, rule, this.#family)).join('\n')
    const hash = hashItem(name, text)
    this.#chains.set(name, { chain, hash })
    this.#hash = addHash(this.#hash, hash)
  }
}
