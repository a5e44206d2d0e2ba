import type { Hook, TableName } from '../../netfilter/ruleset.ts'
import type { Logger } from '../../observe/logger.ts'
import type { BatchSize } from './batches.ts'
import type { SetSocket } from './element-socket.ts'
import type { Iptables } from './iptables.ts'
import type { VerifyReport, WriteReport } from './reports.ts'

/** Called with everything that the writer does, for metrics and events. */
export interface RulesObserver {
  wrote?(report: WriteReport): void
  failed?(error: unknown): void
  verified(report: VerifyReport): void
}

export interface RulesWriterOptions {
  readonly iptables: Iptables
  /** Writes single elements of sets and lists sets in the namespace of `iptables`, where it is given, in place of a program. */
  readonly socket?: SetSocket | undefined
  readonly hooks: readonly Hook[]
  /** The tables that belong to this writer alone; nat and filter by default. Chains of ours in others are not touched. */
  readonly tables?: readonly TableName[]
  readonly log: Logger
  readonly observer?: RulesObserver
  /** Time between two comparisons with the kernel; at least 50 times what the last reading took. Default 30 s, with legacy 8 s. */
  readonly verifyIntervalMs?: number
  /** Time between two looks at the sets with members of ours, which the kernel does not report. Default 5 s. */
  readonly setCheckIntervalMs?: number
  /** Whether a listener reports changes of others: comparing is then only a safety net, every half an hour at most. */
  readonly isWatched?: () => boolean
  /** How large changes are split; by default what suits the flavour. */
  readonly batches?: BatchSize
}
