import type { ObjectKey } from '../../model/api-object.ts'
import { type IpFamily, parseIp } from '../../model/ip.ts'
import type { MemberEntry } from '../../netfilter/member-sets.ts'
import { fixedSets } from '../../netfilter/policy/names.ts'
import type { ClusterState } from './cluster-state.ts'
import type { Direction } from './verdict.ts'

/** Packets that were denied at a pod of this node in a direction, both families together. */
export interface DeniedCount {
  readonly pod: ObjectKey
  readonly direction: Direction
  readonly packets: number
}

/** Packets that were denied at the pods which a policy isolates in a direction. */
export interface PolicyDeniedCount {
  readonly policy: ObjectKey
  readonly direction: Direction
  readonly packets: number
}

/** The kernel's sets of one family. */
export interface ReadableSets {
  readonly family: IpFamily
  /** The members of a set; none where there is no such set. */
  membersOf(set: string): Promise<readonly MemberEntry[]>
}

/** Reads the counters of the kernel's sets; pods that were denied nothing are in it with 0. */
export async function readDeniedCounts(
  families: readonly ReadableSets[],
  state: Pick<ClusterState, 'podAt'>,
): Promise<readonly DeniedCount[]> {
  const counts = new Map<string, DeniedCount>()
  for (const sets of families) {
    for (const direction of ['ingress', 'egress'] as const) {
      for (const { element, packets = 0 } of await sets.membersOf(fixedSets(sets.family).denied[direction])) {
        const address = parseIp(element)
        const pod = address && state.podAt(address)?.key
        if (pod === undefined) continue
        const before = counts.get(`${direction} ${pod}`)?.packets ?? 0
        counts.set(`${direction} ${pod}`, { pod, direction, packets: before + packets })
      }
    }
  }
  return [...counts.values()]
}

/**
 * Counts denied packets by policy: what a pod counts from one reading to the next counts for each policy that isolates it at the second
 * one. So a new policy does not begin with the packets of earlier ones, and a pod that goes takes nothing from its policies.
 */
export class DeniedByPolicy {
  #readings: ReadonlyMap<string, number> = new Map()
  readonly #counts = new Map<string, PolicyDeniedCount>()

  /** Takes a reading of all pods. A count below the one before has begun anew, with a new pod or set. */
  take(
    denied: readonly DeniedCount[],
    state: Pick<ClusterState, 'isolating' | 'policy'>,
  ): readonly PolicyDeniedCount[] {
    for (const { pod, direction, packets } of denied) {
      const before = this.#readings.get(`${direction} ${pod}`) ?? 0
      const added = packets < before ? packets : packets - before
      for (const policy of state.isolating(pod, direction)) this.#add(policy, direction, added)
    }
    this.#readings = new Map(denied.map(({ pod, direction, packets }) => [`${direction} ${pod}`, packets]))
    for (const [key, { policy }] of this.#counts) if (state.policy(policy) === undefined) this.#counts.delete(key)
    return [...this.#counts.values()]
  }

  #add(policy: ObjectKey, direction: Direction, packets: number): void {
    const key = `${direction} ${policy}`
    const before = this.#counts.get(key)?.packets ?? 0
    this.#counts.set(key, { policy, direction, packets: before + packets })
  }
}
