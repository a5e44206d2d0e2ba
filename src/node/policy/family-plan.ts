import { inSlices, TimeSlice } from '../../loop/time-slice.ts'
import type { ObjectKey } from '../../model/api-object.ts'
import { cidrContains, hostCidr, type Ip } from '../../model/ip.ts'
import type { PolicyChanges } from '../../model/network-policy.ts'
import type { SetChange } from '../../netfilter/member-sets.ts'
import type { PolicyRuleSettings } from '../../netfilter/policy/settings.ts'
import { PolicyPlan } from './plan.ts'
import type { FamilyPlan, PlannedWrite } from './plane-parts.ts'

/** Sets that only allow: peers, ports by name, and the addresses that are known. */
const allowingSets = /^PLAT-NP-(P|N|KNOWN)[46]/

/** Plans the rules of one family for `FamilySync`. */
export class LivePlan implements FamilyPlan {
  readonly #plan: PolicyPlan
  #settings: PolicyRuleSettings

  constructor(settings: PolicyRuleSettings) {
    this.#settings = settings
    this.#plan = new PolicyPlan(settings)
  }

  /** The next step hands over what other settings change. */
  configure(settings: PolicyRuleSettings): void {
    this.#settings = settings
    this.#plan.configure(settings)
  }

  /** Whether an address that no known pod has is isolated. */
  isolatesUnknown(address: Ip): boolean {
    const { isolatesUnknown, podCidrs } = this.#settings
    return isolatesUnknown && podCidrs.some((cidr) => cidrContains(cidr, hostCidr(address)))
  }

  async take(changes: PolicyChanges): Promise<PlannedWrite> {
    const { table, sets } = await inSlices(this.#plan.updateInSteps(changes), new TimeSlice())
    const tables = table === undefined ? [] : [table]
    return { tables, sets, objects: this.#plan.hash, mayLose: tables.length > 0 || mayLose(sets) }
  }

  policiesOf(chainOrSet: string): readonly ObjectKey[] {
    return this.#plan.policiesOf(chainOrSet)
  }

  /** The objects that the rules are made of, as of the last step. */
  get objects(): Pick<PolicyPlan, 'policies' | 'pods' | 'namespaceLabels' | 'podAt'> {
    return this.#plan
  }
}

/** An address that leaves a set of peers loses what it could reach; one that comes to the isolated ones may lose anything. */
function mayLose({ create, add, remove, destroy }: SetChange): boolean {
  const removes = remove.size + destroy.length > 0
  return removes || [...create.keys(), ...add.keys()].some((set) => !allowingSets.test(set))
}
