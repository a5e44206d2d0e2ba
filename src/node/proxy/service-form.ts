import type { ObjectKey } from '../../model/api-object.ts'
import type { XorHash } from '../../model/xor-hash.ts'
import type { Frontend } from '../../netfilter/frontend.ts'
import type { ProxyRuleSettings } from '../../netfilter/settings.ts'
import type { FailedLine, WriteReport } from '../rules/index.ts'

/** The form that one proxy mode gives to Services: `Lowered` is one Service in it. Pure. */
export interface ServiceForm<Lowered> {
  lower(frontends: readonly Frontend[], settings: ProxyRuleSettings): Lowered
  /** About how many lines a change takes; undefined for a Service that has nothing. */
  countLines(before: Lowered | undefined, after: Lowered | undefined): number
  /** The states on the way of a large change, each some `maxLines()` away from the one before; not `after` itself. */
  stepsBetween(
    before: Lowered | undefined,
    after: Lowered | undefined,
    maxLines: () => number,
  ): Generator<Lowered, void>
  /** Whether the line that the kernel refused is this Service's. */
  isLineOf(line: FailedLine, lowered: Lowered): boolean
}

/** The Services of one family in one form, and the way to the kernel. */
export interface ServiceTable<Lowered> {
  /** The state of the last update. */
  get(service: ObjectKey): Lowered | undefined
  /** Every Service is to be updated after this, with settings that are these. */
  configure(settings: ProxyRuleSettings): void
  /** Takes Services (undefined: nothing) in many short steps, so that the caller can pause between them. */
  updateInSteps(changes: ReadonlyMap<ObjectKey, Lowered | undefined>): Iterable<void>
  /**
   * Writes what the updates changed, and whatever earlier failures left; the first call compares with the kernel or with its stamp. Throws RulesError
   * (`restore-failed` where the kernel refuses it).
   */
  write(objects: XorHash): Promise<WriteReport>
}
