import type { ObjectKey } from '../../model/api-object.ts'
import type { XorHash } from '../../model/xor-hash.ts'
import type { SizeCount } from '../../netfilter/count-size.ts'
import type { ProxyRuleSettings } from '../../netfilter/settings.ts'
import type { TracedPacket, TracedWorld, TraceOutcome } from '../../netfilter/trace/types.ts'
import type { PlannedService } from './service-plans.ts'
import type { SetAside } from './set-aside.ts'
import type { ServiceQueue } from './write-queue.ts'

export type ProxyModeName = 'iptables' | 'nftables'

/** The numbers of what a mode makes: of rules by table of iptables, or of elements in sets of nftables. */
export interface RuleCounts {
  readonly rules?: Readonly<Record<'nat' | 'filter', number>>
  readonly elements?: number
}

/** Makes rules of the kernel from the Services of one family. The plane knows nothing of their form. */
export interface ProxyMode {
  readonly name: ProxyModeName
  /** The reason for this mode, for users. */
  readonly why: string
  readonly sizeCount: SizeCount
  /** A hash of what this program makes of sample Services under these settings. */
  hashFormat(settings: ProxyRuleSettings): bigint
  createQueue(parts: ModeQueueParts): ServiceQueue
  /** Whether the kernel holds what was made of these objects, by its stamp; writes nothing. Throws RulesError. */
  recognises(objects: XorHash): Promise<boolean>
  /** Whether no packet meets rules of ours; writes nothing. Throws RulesError. */
  isUnhooked(): Promise<boolean>
  /** Follows a packet through what the kernel should hold. */
  trace(packet: TracedPacket, world: TracedWorld, settings: ProxyRuleSettings): readonly TraceOutcome[]
  /** The wanted rules and elements. */
  counts(): RuleCounts
  /** The names of the chains in nat that belong to the Service alone. */
  chainsOf(plan: PlannedService): readonly string[]
}

export interface ModeQueueParts {
  readonly settings: ProxyRuleSettings
  readonly planOf: (service: ObjectKey) => PlannedService | undefined
  readonly setAside: Pick<SetAside, 'has' | 'size'>
}
