import { NftError } from '../../../host/index.ts'
import { TimeSlice } from '../../../loop/time-slice.ts'
import type { XorHash } from '../../../model/xor-hash.ts'
import { BadElementError } from '../../../netfilter/errors.ts'
import type { NetlinkMessage } from '../../../netfilter/netlink.ts'
import { type AdditionBatch, encodeAdditions } from '../../../netfilter/nft/encode-additions.ts'
import { encodeChange } from '../../../netfilter/nft/encode-change.ts'
import { renderChange } from '../../../netfilter/nft/render-change.ts'
import type { ElementChange, NftTable, TableState } from '../../../netfilter/nft/types.ts'
import { RulesError, type RulesErrorCode } from '../errors.ts'
import { addReports, unchanged, type WriteReport } from '../reports.ts'
import { type NftKernel, targetOf } from './kernel.ts'

/** Elements of a transaction: about 0.1 s of a started nft, and 20 MB of its memory. */
const elementsPerSlice = 20_000
/** A change of more Services goes as text: it is no hurry, and rendered in turns with other work. */
const maxQuickChanges = 64
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
    const quick = rules === '' && objects !== undefined ? this.#commit(changes, objects, startedMs) : undefined
    if (quick !== undefined) return quick
    const rendered = await this.#render(changes)
    return this.#send({ ...rendered, text: rendered.text + this.#stateText(objects) }, rules)
  }

  /** Writes a small change without a text that a library has to read, and without the lists that it reads before. Undefined where the kernel has not confirmed it. */
  #commit(changes: Iterable<ElementChange>, objects: XorHash, startedMs: number): WriteReport | undefined {
    if (!Array.isArray(changes) || changes.length > maxQuickChanges) return undefined
    const list: readonly ElementChange[] = changes
    const messages = asRefusal(() => encodeChange(this.#table(), list, this.#stateOf(objects)))
    if (messages === undefined || !this.#kernel.commit(messages)) return undefined
    const bytes = messages.reduce((sum, { payload }) => sum + payload.length, 0)
    const count = (which: 'add' | 'remove') => list.reduce((sum, change) => sum + change[which].length, 0)
    return reportTransaction(bytes, { added: count('add'), removed: count('remove') }, startedMs)
  }

  /** Writes a table that does not exist: the rules, then the elements, each Service in one transaction. */
  async writeInSlices(changes: Iterable<ElementChange>): Promise<WriteReport> {
    const rules = await this.write([], undefined, this.#table().text)
    const { report, left } = await this.#commitAdditions(changes)
    return addReports(addReports(rules, report), await this.#sendInSlices(left))
  }

  /** Writes elements as messages; the next ones are encoded while the kernel takes those before. `left`: what it has not confirmed or cannot be encoded. */
  async #commitAdditions(
    changes: Iterable<ElementChange>,
  ): Promise<{ readonly report: WriteReport; readonly left: Iterable<ElementChange> }> {
    let report = unchanged
    let sent: SentBatch | undefined
    const batches = encodeAdditions(this.#table(), changes)
    for (;;) {
      const next = batches.next()
      const some = next.done === true ? [] : next.value.changes
      const taken = await sent?.taken
      if (sent !== undefined && taken === undefined)
        return { report, left: changesOf([...sent.changes, ...some], batches) }
      if (taken !== undefined) report = addReports(report, taken)
      const messages = next.done === true ? undefined : next.value.messages
      if (messages === undefined) return { report, left: changesOf(some, batches) }
      sent = { changes: some, taken: this.#commitBatch(messages, some) }
    }
  }

  /** Resolves with undefined where the kernel has not confirmed it. */
  async #commitBatch(
    messages: readonly NetlinkMessage[],
    changes: readonly ElementChange[],
  ): Promise<WriteReport | undefined> {
    const startedMs = performance.now()
    if (!(await this.#kernel.commitApart(messages))) return undefined
    const added = changes.reduce((sum, { add }) => sum + add.length, 0)
    const bytes = messages.reduce((sum, { payload }) => sum + payload.length, 0)
    return reportTransaction(bytes, { added, removed: 0 }, startedMs)
  }

  /** A slice is rendered while a program writes the one before. */
  async #sendInSlices(changes: Iterable<ElementChange>): Promise<WriteReport> {
    let report = unchanged
    let sending = Promise.resolve(unchanged)
    try {
      for (const slice of slicesOf(changes)) {
        const rendered = await this.#render(slice)
        report = addReports(report, await sending)
        sending = this.#send(rendered, '')
        // A failure is seen where it is awaited, after the next slice is rendered.
        sending.catch(() => undefined)
      }
      return addReports(report, await sending)
    } finally {
      // Nothing else may be written before the program has ended.
      await sending.catch(() => undefined)
    }
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

  async #send({ text, added, removed }: Rendered, rules: string): Promise<WriteReport> {
    const startedMs = performance.now()
    const all = rules + text
    if (all === '') return unchanged
    await this.#run(all, rules !== '')
    return reportTransaction(Buffer.byteLength(all), { added, removed }, startedMs)
  }

  async #render(changes: Iterable<ElementChange>): Promise<Rendered> {
    const slice = new TimeSlice()
    const texts: string[] = []
    const counts = { added: 0, removed: 0 }
    let part: ElementChange[] = []
    let size = 0
    const flush = () => {
      if (part.length > 0) texts.push(asRefusal(() => renderChange(this.#table(), part)))
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

  #stateText(objects: XorHash | undefined): string {
    if (objects === undefined) return ''
    return renderChange(this.#table(), [], this.#stateOf(objects))
  }

  #stateOf(objects: XorHash): TableState {
    return { version: this.#table().version, objects: objectsText(objects), listing: this.listing }
  }

  async #run(text: string, hasRules: boolean): Promise<void> {
    try {
      await (hasRules ? this.#kernel.applyRuleset(text) : this.#kernel.run(text))
    } catch (thrown) {
      throw explainNftFailure(thrown)
    }
  }
}

/** Reports what must not become text as refused by the kernel: the plane finds its Service, and one Service alone is not written. */
function asRefusal<Result>(render: () => Result): Result {
  try {
    return render()
  } catch (thrown) {
    if (!(thrown instanceof BadElementError)) throw thrown
    const { set, key, message } = thrown
    throw new RulesError('restore-failed', message, {
      line: { number: 0, text: key, table: 'nftables', set },
      cause: thrown,
    })
  }
}

/** A batch that the kernel takes now. */
interface SentBatch {
  readonly changes: readonly ElementChange[]
  readonly taken: Promise<WriteReport | undefined>
}

interface Rendered {
  readonly text: string
  readonly added: number
  readonly removed: number
}

/** The hash of objects as the state has it. */
export function objectsText({ value, count }: XorHash): string {
  return `${value.toString(16).padStart(16, '0')}${count.toString(16).padStart(8, '0')}`
}

/** The changes that a batch holds, then those of the others. */
function* changesOf(first: readonly ElementChange[], batches: Iterable<AdditionBatch>): Iterable<ElementChange> {
  yield* first
  for (const { changes } of batches) yield* changes
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
  bytes: number,
  elements: { readonly added: number; readonly removed: number },
  startedMs: number,
): WriteReport {
  const toMs = performance.now()
  const kernel = { fromMs: startedMs, toMs }
  return {
    ...unchanged,
    kind: 'written',
    bytes,
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
