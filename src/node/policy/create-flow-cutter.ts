import type { Ip } from '../../model/ip.ts'
import { BarredFlows, type BarredFlowsParts } from './barred-flows.ts'
import type { LivePlan } from './family-plan.ts'
import { FlowCutter, type FlowCutterParts } from './flow-cutter.ts'
import { createFlowJudge } from './flow-judge.ts'
import { TrackedFlows, type TrackedFlowsParts } from './tracked-flows.ts'

export interface KernelFlowCutterParts
  extends Pick<FlowCutterParts, 'family' | 'rules' | 'metrics' | 'log'>,
    Pick<BarredFlowsParts, 'membersOf'>,
    Pick<TrackedFlowsParts, 'run' | 'socket'> {
  /** Plans the rules that `rules` guards. */
  readonly plan: LivePlan
  /** Reads the node's addresses: it and its pods always reach each other. */
  readonly nodeAddresses: () => ReadonlySet<Ip>
}

/** Creates the cutter of one family over conntrack and ipset. */
export function createFlowCutter(all: KernelFlowCutterParts): FlowCutter {
  const { run, socket, plan, membersOf, nodeAddresses, ...parts } = all
  const { family } = parts
  return new FlowCutter({
    ...parts,
    flows: new TrackedFlows({ family, run, socket }),
    barred: new BarredFlows({ family, run, socket, membersOf }),
    createJudge: () => {
      const own = nodeAddresses()
      return createFlowJudge(plan.objects, (address) => own.has(address))
    },
  })
}
