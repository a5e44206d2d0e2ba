import type { ObjectKey } from '../../model/api-object.ts'
import type { Logger, Tracer } from '../../observe/index.ts'
import type { AppliedRevisions, NodeState } from '../state/index.ts'
import type { ProxyMetrics } from './metrics.ts'
import type { ProxyMode } from './proxy-mode.ts'
import type { PlannedState, ProxySettings } from './service-plans.ts'
import type { Refusal } from './set-aside.ts'

/** The dependencies of a `ProxyPlane`. */
export interface ProxyPlaneParts {
  readonly state: PlannedState & NodeState
  readonly mode: ProxyMode
  readonly applied: AppliedRevisions
  readonly settings: ProxySettings
  /** Nothing is written before `configure` has been called. */
  readonly waitsForNode?: boolean
  readonly metrics: ProxyMetrics
  readonly log: Logger
  /** Absent: syncs are not traced. */
  readonly tracer?: Tracer
  /** Time between the starts of two writes, unless an endpoint goes; by default twice what the last one took, at most a second. */
  readonly minGapMs?: (lastRunMs: number) => number
  /** A Service that would have more rules, or elements in the mode nftables, is set aside; no limit by default. */
  readonly maxServiceRules?: number
  /** Called once with each Service that is set aside, beside the log. */
  readonly onRefused?: (refusal: Refusal) => void
  /**
   * Called each time the kernel holds everything that is wanted, and where it was found to hold it, with the Services that are set aside
   * and of which it holds nothing.
   */
  readonly onComplete?: (unserved: readonly ObjectKey[]) => void
  /** Called with the Services whose rules the kernel has taken, or was found to hold: each at least once. */
  readonly onApplied?: (services: readonly ObjectKey[]) => void
  /**
   * Called with the Services of which the kernel has taken rules that are not the current ones: they have changed since, or only a part is
   * written. These rules stand until the next write.
   */
  readonly onOvertaken?: (services: readonly ObjectKey[]) => void
}
