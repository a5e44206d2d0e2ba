import type { MetricSpec } from '../../model/metric-spec.ts'
import type { Metrics } from '../../observe/index.ts'
import { type ClaimReason, claimReasons, type RefusedClaim } from './claims.ts'

/** The metrics of routes to other nodes. */
export const routesMetrics = {
  refusedClaims: {
    type: 'gauge',
    name: 'platnet_routes_refused_claims',
    help: 'Pod networks and addresses of Node objects that this node does not use, by reason.',
    labels: { reason: claimReasons },
  },
} as const satisfies Record<string, MetricSpec>

export interface RoutesMetrics {
  setRefusedClaims(refused: readonly RefusedClaim[]): void
}

export function createRoutesMetrics(metrics: Metrics): RoutesMetrics {
  const claims = metrics.gauge(routesMetrics.refusedClaims)
  return {
    setRefusedClaims: (refused) => {
      const counts = new Map<ClaimReason, number>()
      for (const { reason } of refused) counts.set(reason, (counts.get(reason) ?? 0) + 1)
      for (const reason of claimReasons) claims.set(counts.get(reason) ?? 0, { reason })
    },
  }
}
