import { hash } from 'node:crypto'
import type { IpFamily } from '../../../model/ip.ts'
import { parseStateComment } from '../../../netfilter/nft/render-change.ts'
import type { NftTable, SetElement, SetSpec, TableState } from '../../../netfilter/nft/types.ts'
import { RulesError } from '../errors.ts'
import { differenceOf, type ElementDifference, Fingerprint, fingerprintsOf } from './element-difference.ts'
import type { NftKernel } from './kernel.ts'

/** The wanted table with the elements of all Services; a live view. */
export interface WantedElements {
  readonly table: NftTable
  all(): Iterable<SetElement>
}

/** The map of verdicts; its data is read without a type. */
const drawSpec: SetSpec = { name: 'draw', key: ['classid'], data: [], isInterval: false }

/** How often a list is begun anew because tables changed while it was read. */
const maxAttempts = 5

/** Reads one family's table from the kernel and compares it with the wanted one. */
export class TableReader {
  readonly #kernel: NftKernel
  readonly #wanted: WantedElements
  readonly #table: { readonly family: IpFamily; readonly name: 'platnet' }

  constructor(kernel: NftKernel, wanted: WantedElements) {
    this.#kernel = kernel
    this.#wanted = wanted
    this.#table = { family: wanted.table.family, name: wanted.table.name }
  }

  get listsElements(): boolean {
    return this.#kernel.listsElements
  }

  isThere(): Promise<boolean> {
    return this.#kernel.hasTable(this.#table)
  }

  async readState(): Promise<TableState | undefined> {
    const comment = await this.#kernel.readStateComment(this.#table)
    return comment === undefined ? undefined : parseStateComment(comment)
  }

  /**
   * Hashes the rules as the kernel holds them: flags, sets and their types, chains, rules, and, where elements can be listed, which number leads to which
   * chain.
   */
  async readListing(): Promise<string> {
    const rules = await this.#kernel.listRules(this.#table)
    const draw = this.listsElements ? await this.#readElements(drawSpec) : undefined
    const drawn = [...(draw ?? [])].map((element) => element.join(' '))
    return hash('sha256', `${rules}${drawn.sort()}`, 'hex').slice(0, 16)
  }

  /** Whether the table has no chain and no set beside those of this text. */
  async hasOnly({ text }: NftTable): Promise<boolean> {
    const wanted = new Set(namesIn(text))
    return namesIn(await this.#kernel.listRules(this.#table)).every((name) => wanted.has(name))
  }

  /** The sets in which the kernel holds other elements than the wanted ones. Throws RulesError (`save-failed`). */
  async findDiffering(sets: readonly SetSpec[] = this.#wanted.table.sets): Promise<readonly SetSpec[]> {
    const differing: SetSpec[] = []
    const wanted = await fingerprintsOf(this.#wanted.all(), sets)
    for (const spec of sets) {
      const held = await this.#readFingerprint(spec)
      if (held === undefined || wanted.get(spec.name)?.equals(held) !== true) differing.push(spec)
    }
    return differing
  }

  /** The differences in these sets, without empty ones. A set that does not exist counts as empty. Throws RulesError (`save-failed`). */
  async readDifferences(sets: readonly SetSpec[]): Promise<ReadonlyMap<string, ElementDifference>> {
    const found = new Map<string, ElementDifference>()
    for (const spec of sets) {
      const held = (await this.#readElements(spec)) ?? new Map<string, string>()
      const difference = await differenceOf(spec.name, this.#wanted.all(), held)
      if (difference.remove.length + difference.add.length > 0) found.set(spec.name, difference)
    }
    return found
  }

  #readFingerprint(spec: SetSpec): Promise<Fingerprint | undefined> {
    return this.#read(spec, () => {
      const sum = new Fingerprint()
      return { result: sum, take: (key, data) => sum.add(key, data) }
    })
  }

  #readElements(spec: SetSpec): Promise<Map<string, string> | undefined> {
    return this.#read(spec, () => {
      const held = new Map<string, string>()
      return { result: held, take: (key, data) => held.set(key, data) }
    })
  }

  /**
   * Undefined where the set does not exist. Commits to other tables do not spoil a list, but look like those to ours: after some attempts
   * the list counts. While this writer's own commits wait, that is right.
   */
  async #read<Result>(
    spec: SetSpec,
    begin: () => { readonly result: Result; readonly take: (key: string, data: string) => void },
  ): Promise<Result | undefined> {
    for (let attempt = 1; ; attempt++) {
      const { result, take } = begin()
      const end = await this.#kernel.listElements(this.#table, spec, ({ key, data }) => take(key, data))
      if (end === 'complete' || (end === 'changed' && attempt === maxAttempts)) return result
      if (end === 'missing') return undefined
      if (end === 'failed') break
    }
    throw new RulesError('save-failed', `reading the set ${spec.name} of table ${this.#table.name} failed`)
  }
}

/** The names of chains, sets and maps in a text that declares a table, or lists one. */
function namesIn(text: string): readonly string[] {
  return Array.from(
    text.matchAll(/^\s+(?:(chain)|set|map) (\S+) \{/gm),
    ([, chain, name]) => `${chain ?? 'set'} ${name}`,
  )
}
