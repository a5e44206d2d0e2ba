import { deleteFlowsBetween, deleteFlowsOf, listFlowEnds, type Run } from '../../host/index.ts'
import type { Ip } from '../../model/ip.ts'
import { BarredFlows, type BarredFlowsParts } from './barred-flows.ts'
import type { LivePlan } from './family-plan.ts'
import { FlowCutter, type FlowCutterParts } from './flow-cutter.ts'
import { createFlowJudge } from './flow-judge.ts'

export interface KernelFlowCutterParts
  extends Pick<FlowCutterParts, 'family' | 'rules' | 'metrics' | 'log'>,
    Pick<BarredFlowsParts, 'membersOf'> {
  readonly run: Run
  /** Plans the rules that `rules` guards. */
  readonly plan: LivePlan
  /** Reads the node's addresses: it and its pods always reach each other. */
  readonly nodeAddresses: () => ReadonlySet<Ip>
}

/** Creates the cutter of one family over conntrack and ipset. */
export function createFlowCutter({ run, plan, membersOf, nodeAddresses, ...parts }: KernelFlowCutterParts): FlowCutter {
  const { family } = parts
  return new FlowCutter({
    ...parts,
    flows: {
      list: (from) => listFlowEnds(family, { from, run }),
      remove: (flows) => deleteFlowsBetween(flows, run),
      removeOf: (addresses) => deleteFlowsOf(addresses, run),
    },
    barred: new BarredFlows({ family, run, membersOf }),
    createJudge: () => {
      const own = nodeAddresses()
      return createFlowJudge(plan.objects, (address) => own.has(address))
    },
  })
}
