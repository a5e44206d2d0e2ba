import { NftError } from '../../../host/index.ts'
import { TimeSlice } from '../../../loop/time-slice.ts'
import type { XorHash } from '../../../model/xor-hash.ts'
import { BadElementError } from '../../../netfilter/errors.ts'
import { renderChange } from '../../../netfilter/nft/render-change.ts'
import type { ElementChange, NftTable } from '../../../netfilter/nft/types.ts'
import { RulesError, type RulesErrorCode } from '../errors.ts'
import { addReports, unchanged, type WriteReport } from '../reports.ts'
import { type NftKernel, targetOf } from './kernel.ts'

/** Elements of a transaction: about 0.1 s of a started nft, and 20 MB of its memory. */
const elementsPerSlice = 20_000
/** Rendered in one go. */
const elementsPerPart = 500

/**
 * Renders and runs the transactions of one family's table. Those without rules that are small go through the library, the others through a
 * started nft: so a large one does not hold the thread.
 */
export class TableWriter {
  readonly #kernel: NftKernel
  readonly #table: () => NftTable
  /** The hash of the rules as the kernel holds them, by the last writing of rules or the kernel's state; `0` for unknown. */
  listing = '0'

  constructor(kernel: NftKernel, table: () => NftTable) {
    this.#kernel = kernel
    this.#table = table
  }

  /**
   * Writes elements, and the state where `objects` are given, in one transaction. Throws RulesError.
   *
   * @param rules commands that come before the elements
   */
  async write(changes: Iterable<ElementChange>, objects: XorHash | undefined, rules = ''): Promise<WriteReport> {
    const startedMs = performance.now()
    const { text, added, removed } = await this.#render(changes)
    const all = rules + text + this.#stateText(objects)
    if (all === '') return unchanged
    await this.#run(all, rules !== '')
    return reportTransaction(all, { added, removed }, startedMs)
  }

  /** Writes a table that does not exist: the rules with the first elements, then the others, each Service in one transaction. */
  async writeInSlices(changes: Iterable<ElementChange>): Promise<WriteReport> {
    let report = unchanged
    let rules = this.#table().text
    for (const slice of slicesOf(changes)) {
      report = addReports(report, await this.write(slice, undefined, rules))
      rules = ''
    }
    return rules === '' ? report : this.write([], undefined, rules)
  }

  /** The commands that replace all rules and keep the elements. */
  rulesAnew(): string {
    return `flush table ${targetOf(this.#table())}\n${this.#table().text}`
  }

  /** The commands that begin the table anew, whatever stands there. */
  tableAnew(): string {
    const target = targetOf(this.#table())
    return `add table ${target}\ndelete table ${target}\n${this.#table().text}`
  }

  async #render(changes: Iterable<ElementChange>) {
    const slice = new TimeSlice()
    const texts: string[] = []
    const counts = { added: 0, removed: 0 }
    let part: ElementChange[] = []
    let size = 0
    const flush = () => {
      if (part.length > 0) texts.push(this.#renderPart(part))
      part = []
      size = 0
    }
    for (const { service, remove, add } of changes) {
      part.push({ service, remove, add })
      counts.added += add.length
      counts.removed += remove.length
      size += remove.length + add.length
      if (size >= elementsPerPart) flush()
      if (slice.spent) await slice.pause()
    }
    flush()
    return { text: texts.join(''), ...counts }
  }

  /** Reports what must not become text as refused by the kernel: the plane finds its Service, and one Service alone is not written. */
  #renderPart(part: readonly ElementChange[]): string {
    try {
      return renderChange(this.#table(), part)
    } catch (thrown) {
      if (!(thrown instanceof BadElementError)) throw thrown
      const { set, key, message } = thrown
      throw new RulesError('restore-failed', message, {
        line: { number: 0, text: key, table: 'nftables', set },
        cause: thrown,
      })
    }
  }

  #stateText(objects: XorHash | undefined): string {
    if (objects === undefined) return ''
    const table = this.#table()
    return renderChange(table, [], { version: table.version, objects: objectsText(objects), listing: this.listing })
  }

  async #run(text: string, hasRules: boolean): Promise<void> {
    try {
      await (hasRules ? this.#kernel.applyRuleset(text) : this.#kernel.run(text))
    } catch (thrown) {
      throw explainNftFailure(thrown)
    }
  }
}

/** The hash of objects as the state has it. */
export function objectsText({ value, count }: XorHash): string {
  return `${value.toString(16).padStart(16, '0')}${count.toString(16).padStart(8, '0')}`
}

function* slicesOf(changes: Iterable<ElementChange>): Iterable<readonly ElementChange[]> {
  let slice: ElementChange[] = []
  let size = 0
  for (const { service, remove, add } of changes) {
    slice.push({ service, remove, add })
    size += remove.length + add.length
    if (size < elementsPerSlice) continue
    yield slice
    slice = []
    size = 0
  }
  if (slice.length > 0) yield slice
}

function reportTransaction(
  text: string,
  elements: { readonly added: number; readonly removed: number },
  startedMs: number,
): WriteReport {
  const toMs = performance.now()
  const kernel = { fromMs: startedMs, toMs }
  return {
    ...unchanged,
    kind: 'written',
    bytes: Buffer.byteLength(text),
    durationMs: toMs - startedMs,
    restores: 1,
    elements,
    kernel,
  }
}

/** An invalid text is one that the session hands to no program: one Service causes it. */
const rulesErrorCodes = {
  refused: 'restore-failed',
  invalid: 'restore-failed',
  unavailable: 'not-found',
  uncertain: 'uncertain',
} as const satisfies Record<NftError['code'], RulesErrorCode>

/** Turns an NftError into a RulesError; anything else is returned as it came. */
function explainNftFailure(thrown: unknown): unknown {
  if (!(thrown instanceof NftError)) return thrown
  const { code, command, element, lineNumber, message } = thrown
  const set = /element \S+ \S+ (\S+)$/.exec(command ?? '')?.[1]
  const line = {
    number: lineNumber ?? 0,
    text: element ?? '',
    table: 'nftables',
    ...(set === undefined ? {} : { set }),
  }
  return new RulesError(rulesErrorCodes[code], message, { ...(element === undefined ? {} : { line }), cause: thrown })
}
