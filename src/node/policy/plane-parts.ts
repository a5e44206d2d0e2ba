import type { ObjectKey } from '../../model/api-object.ts'
import type { IpFamily } from '../../model/ip.ts'
import type { NetworkPolicy, PolicyChanges } from '../../model/network-policy.ts'
import type { XorHash } from '../../model/xor-hash.ts'
import type { SetChange } from '../../netfilter/member-sets.ts'
import type { TableChange } from '../../netfilter/ruleset.ts'
import type { Logger, Tracer } from '../../observe/index.ts'
import type { WriteReport } from '../rules/index.ts'
import type { AppliedRevisions, LiveNodeState } from '../state/index.ts'
import type { ClusterState } from './cluster-state.ts'
import type { FlowCutter } from './flow-cutter.ts'
import type { ListedCollections } from './listed-collections.ts'
import type { PolicyMetrics } from './metrics.ts'
import type { PolicyProblems } from './problems.ts'
import type { StandingRules } from './standing-rules.ts'

/** The rules of one family that the kernel lacks. */
export interface PlannedWrite {
  readonly tables: readonly TableChange[]
  readonly sets: SetChange
  /** The hash of everything that the rules are made of. */
  readonly objects: XorHash
  /** Whether something that was allowed may not be allowed any more. */
  readonly mayLose: boolean
}

/** The rules of one family, kept in step with the objects. */
export interface FamilyPlan {
  /** Takes what changed; returns what the kernel lacks since the call before. */
  take(changes: PolicyChanges): Promise<PlannedWrite>
  /** The policies whose rules a chain holds, or whose rules name a set; none for chains and sets that stand for all of them. */
  policiesOf(chainOrSet: string): readonly ObjectKey[]
}

/** The part of `RulesWriter` that a family needs. */
export interface PolicyWriter {
  sync(changes: readonly TableChange[], objects: XorHash, sets: SetChange): Promise<WriteReport>
  write(changes: readonly TableChange[], objects: XorHash, sets: SetChange): Promise<WriteReport>
}

export interface FamilyParts {
  readonly family: IpFamily
  readonly plan: FamilyPlan
  readonly writer: PolicyWriter
  /** Shared with the cutter. */
  readonly rules: StandingRules
  readonly cutter: Pick<FlowCutter, 'judgeAll' | 'forget' | 'whenForgotten' | 'release'>
}

/** The parts of a `PolicyPlane`. */
export interface PolicyPlaneParts {
  readonly families: readonly FamilyParts[]
  readonly state: ClusterState
  readonly lists: ListedCollections
  readonly problems: PolicyProblems
  readonly nodeState: Pick<LiveNodeState, 'revision' | 'subscribe' | 'announcedPod'>
  readonly applied: Pick<AppliedRevisions, 'publish'>
  /** Finds the obstacles to enforcing policies on this node, one sentence each with its remedy; none where nothing is in the way. */
  readonly findObstacles: () => Promise<readonly string[]>
  readonly metrics: PolicyMetrics
  readonly log: Logger
  /** Absent: syncs are not traced. */
  readonly tracer?: Tracer
  /** Time between two searches for obstacles; 30 s by default. */
  readonly obstacleIntervalMs?: number
  /** Time between the starts of two writes that are not urgent; by default twice what the last one took, at most a second. */
  readonly minGapMs?: (lastRunMs: number) => number
}

/** The policy that stands in for one that the kernel refuses and that it had no earlier rules of: it isolates and allows nothing. */
export function denyAll(policy: NetworkPolicy): NetworkPolicy {
  const { ingress, egress, ...rest } = policy
  return { ...rest, ...(ingress && { ingress: [] }), ...(egress && { egress: [] }) }
}
