import type { ObjectKey } from '../../model/api-object.ts'
import type { XorHash } from '../../model/xor-hash.ts'
import { elementCount } from '../../netfilter/nft/count-elements.ts'
import { ElementIndex } from '../../netfilter/nft/element-index.ts'
import type { ElementRuleset } from '../../netfilter/nft/element-ruleset.ts'
import { lowerToElements } from '../../netfilter/nft/lower-elements.ts'
import { countElements } from '../../netfilter/nft/packed-elements.ts'
import type { ElementChange, NftChange, NftTable, ServiceElements } from '../../netfilter/nft/types.ts'
import type { ProxyRuleSettings } from '../../netfilter/settings.ts'
import { traceElements } from '../../netfilter/trace/trace-elements.ts'
import type { TracedPacket, TracedWorld, TraceOutcome } from '../../netfilter/trace/types.ts'
import type { FailedLine, NftWriter, WriteReport } from '../rules/index.ts'
import type { ModeQueueParts, ProxyMode, RuleCounts } from './proxy-mode.ts'
import { RefusalIsolation } from './refusal-isolation.ts'
import { hashElementFormat } from './rule-format.ts'
import type { ServiceForm, ServiceTable } from './service-form.ts'
import { type ServiceQueue, WriteQueue } from './write-queue.ts'

export interface NftablesModeParts {
  readonly why?: string
  readonly ruleset: ElementRuleset
  readonly writer: Pick<NftWriter, 'recognises' | 'isUnhooked' | 'write'>
  /** Traces a packet, as it is after translation, through the rules that accept what others would refuse; none without iptables. */
  readonly traceForward?: (packet: TracedPacket, world: TracedWorld, isMarked: boolean) => TraceOutcome['rules']
}

/** Services as elements of the sets of one table of nftables, whose rules stay the same. */
export class NftablesMode implements ProxyMode {
  readonly name = 'nftables'
  readonly why: string
  readonly sizeCount = elementCount
  readonly #parts: NftablesModeParts

  constructor(parts: NftablesModeParts) {
    this.why = parts.why ?? ''
    this.#parts = parts
  }

  hashFormat(settings: ProxyRuleSettings): bigint {
    return hashElementFormat(settings)
  }

  createQueue({ settings: _, ...parts }: ModeQueueParts): ServiceQueue {
    const { ruleset, writer } = this.#parts
    const table = new ElementTable(ruleset, writer)
    return new WriteQueue({
      ...parts,
      form: elementForm,
      isolation: new RefusalIsolation({ form: elementForm, table }),
    })
  }

  recognises(objects: XorHash): Promise<boolean> {
    return this.#parts.writer.recognises(objects)
  }

  isUnhooked(): Promise<boolean> {
    return this.#parts.writer.isUnhooked()
  }

  trace(packet: TracedPacket, world: TracedWorld, settings: ProxyRuleSettings): readonly TraceOutcome[] {
    const { ruleset, traceForward } = this.#parts
    const outcomes = traceElements(packet, { ...world, settings, elements: new ElementIndex(ruleset.all()) })
    if (traceForward === undefined) return outcomes
    return outcomes.map((outcome) => {
      if (outcome.verdict !== 'accept') return outcome
      const { address = packet.destination, port = packet.port } = outcome.endpoint ?? {}
      return { ...outcome, rules: traceForward({ ...packet, destination: address, port }, world, outcome.masqueraded) }
    })
  }

  counts(): RuleCounts {
    return { elements: this.#parts.ruleset.size }
  }

  chainsOf(): readonly string[] {
    return []
  }
}

/** One element is one line. A change is small at any size of a Service, so none is cut. */
const elementForm: ServiceForm<ServiceElements> = {
  lower: lowerToElements,
  countLines: (before, after) => 1 + linesOf(before) + linesOf(after),
  *stepsBetween() {},
  isLineOf: isElementOf,
}

function linesOf(elements: ServiceElements | undefined): number {
  return elements === undefined ? 0 : countElements(elements)
}

/** The line is an element as it was written: its key, and its data where it has any. */
function isElementOf({ set, text }: FailedLine, { elements }: ServiceElements): boolean {
  const [key = ''] = text.split(' : ')
  return elements.some((element) => element.key === key && (set === undefined || element.set === set))
}

/** Hands the elements that differ to the writer. */
class ElementTable implements ServiceTable<ServiceElements> {
  readonly #ruleset: ElementRuleset
  readonly #writer: NftablesModeParts['writer']
  /** Changes of the elements that the writer was not given yet. */
  #table: NftTable | undefined
  #changes: ElementChange[] = []
  /** Before its first success the writer compares all elements with the kernel, or writes all of them. */
  #isWritten = false

  constructor(ruleset: ElementRuleset, writer: NftablesModeParts['writer']) {
    this.#ruleset = ruleset
    this.#writer = writer
  }

  get(service: ObjectKey): ServiceElements | undefined {
    return this.#ruleset.elementsOf(service)
  }

  configure(settings: ProxyRuleSettings): void {
    this.#ruleset.configure(settings)
  }

  *updateInSteps(changes: ReadonlyMap<ObjectKey, ServiceElements | undefined>): Iterable<void> {
    if (!this.#isWritten) {
      this.#table = (yield* this.#ruleset.fillInSteps(changes)) ?? this.#table
      return
    }
    const { table, changes: elements } = yield* this.#ruleset.updateInSteps(changes)
    this.#table = table ?? this.#table
    for (const change of elements) this.#changes.push(change)
  }

  /** After a failure the writer finds what the kernel lacks by reading it, so that no change is kept here. */
  async write(objects: XorHash): Promise<WriteReport> {
    const change: NftChange = { changes: this.#changes, ...(this.#table && { table: this.#table }) }
    this.#changes = []
    this.#table = undefined
    const report = await this.#writer.write(change, objects)
    this.#isWritten = true
    return report
  }
}
