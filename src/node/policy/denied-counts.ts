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
