import type { IpFamily } from '../../model/ip.ts'
import type { ClusterState } from './cluster-state.ts'
import type { FamilySync, LastPolicySync } from './family-sync.ts'
import { countIsolated, type IsolatedPods } from './isolation.ts'
import type { PolicyProblem, PolicyProblems } from './problems.ts'

/** The policies that the agent enforces; part of `platnet status`. */
export interface PolicyStatus {
  readonly policies: number
  /** Pods that this node knows, also those of other nodes. */
  readonly pods: number
  readonly localPods: number
  readonly isolated: IsolatedPods
  /** The reasons why policies are not enforced, or do not hold; none where they are. */
  readonly obstacles: readonly string[]
  readonly problems: readonly PolicyProblem[]
  readonly families: readonly { readonly family: IpFamily; readonly lastSync: LastPolicySync | undefined }[]
}

export interface StatusParts {
  readonly state: ClusterState
  readonly problems: PolicyProblems
  readonly families: readonly Pick<FamilySync, 'family' | 'lastSync'>[]
  readonly obstacles: readonly string[]
}

export function policyStatus({ state, problems, families, obstacles }: StatusParts): PolicyStatus {
  const { policies, pods } = state.counts
  return {
    policies,
    pods,
    localPods: [...state.localPods()].length,
    isolated: countIsolated(state),
    obstacles,
    problems: problems.list(),
    families: families.map(({ family, lastSync }) => ({ family, lastSync })),
  }
}
