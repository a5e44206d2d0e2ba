import type { IpFamily } from '../../model/ip.ts'
import type { MetricSpec } from '../../model/metric-spec.ts'
import type { Metrics } from '../../observe/index.ts'

/** The rules that a writer keeps: those of Services, those beside the mode nftables that accept forwarded packets, and those of policies. */
const keptRules = ['services', 'forward', 'policies'] as const

export const rulesMetrics = {
  repairs: {
    type: 'counter',
    name: 'platnet_rules_repairs_total',
    help: 'How often rules, sets or elements that other programs had changed in the kernel were put back; the log names the program.',
    labels: { rules: keptRules, ip_family: ['IPv4', 'IPv6'] },
  },
} as const satisfies Record<string, MetricSpec>

/** Learns of each comparison with the kernel. */
export interface RepairObserver {
  verified(report: { readonly drift: readonly unknown[] }): void
}

export type RepairObservers = (rules: (typeof keptRules)[number], family: IpFamily) => RepairObserver

/** Makes the observer of each writer, which counts its repairs. */
export function createRepairObservers(metrics: Metrics): RepairObservers {
  const repairs = metrics.counter(rulesMetrics.repairs)
  return (rules, family) => {
    const labels = { rules, ip_family: family }
    // A counter that is there from the start tells its first event as an increase.
    repairs.add(0, labels)
    return {
      verified: ({ drift }) => {
        if (drift.length > 0) repairs.add(1, labels)
      },
    }
  }
}
