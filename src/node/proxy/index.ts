export { ClaimedServices, type ClaimedServicesParts, summarizeRefusedClaims } from './claimed-services.ts'
export { ConntrackCleaner } from './conntrack-cleaner.ts'
export type { FlowExplanation } from './explain-flow.ts'
export type { ServiceExplanation } from './explain-service.ts'
export { ForwardRules, type ForwardTables } from './forward-rules.ts'
export { HealthChecks } from './health-checks.ts'
export { IptablesMode } from './iptables-mode.ts'
export {
  type ConntrackMetrics,
  collectInvalidDrops,
  collectProxyCounts,
  collectRefusedClaims,
  createConntrackMetrics,
  createProxyMetrics,
  type ProxyMetrics,
} from './metrics.ts'
export { ModeHandover } from './mode-handover.ts'
export { NftablesMode } from './nftables-mode.ts'
export { NodeWatch } from './node-watch.ts'
export { ProxyPlane } from './plane.ts'
export { createProxyHealthz, isFresh } from './proxy-healthz.ts'
export { createProxyMetricsListener } from './proxy-metrics-listener.ts'
export type { ProxyMode } from './proxy-mode.ts'
export { claimKey, type RefusedClaim } from './service-claims.ts'
export type { ProxySettings } from './service-plans.ts'
export type { Refusal } from './set-aside.ts'
export { type NodeFacts, type ProxyOptions, planHealthAddresses, planSettings } from './settings.ts'
export { type ProxyStatus, ProxyView } from './view.ts'
