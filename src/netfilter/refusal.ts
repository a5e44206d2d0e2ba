import type { Frontend } from './frontend.ts'
import type { ProxyRuleSettings } from './settings.ts'

/** The fate of connections to an address that does not serve them, and the reason for people. */
export interface Refusal {
  readonly verdict: 'drop' | 'reject'
  readonly reason: string
}

/** Refuses connections at once if no endpoint exists; drops them (by default) if only this node has none. */
export function refusal(
  frontend: Frontend,
  isServed: boolean,
  { noLocalEndpoints = 'drop' }: ProxyRuleSettings,
): Refusal | undefined {
  if (!frontend.hasEndpoints) return { verdict: 'reject', reason: 'has no endpoints' }
  return isServed ? undefined : { verdict: noLocalEndpoints, reason: 'has no local endpoints' }
}

/** Drops packets to the load balancer's address: those that nat accepted have another destination when filter sees them. */
export function notLetIn({ sourceRanges }: Frontend): Refusal | undefined {
  return sourceRanges && { verdict: 'drop', reason: 'is not open to this source' }
}

export function isInternalServed({ internalPolicy, clusterEndpoints, localEndpoints }: Frontend): boolean {
  return (internalPolicy === 'Local' ? localEndpoints : clusterEndpoints).length > 0
}

export function isExternalServed({ externalPolicy, clusterEndpoints, localEndpoints }: Frontend): boolean {
  return (externalPolicy === 'Local' ? localEndpoints : clusterEndpoints).length > 0
}
