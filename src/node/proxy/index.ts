export { ConntrackCleaner } from './conntrack-cleaner.ts'
export {
  type ConntrackMetrics,
  createConntrackMetrics,
  createProxyMetrics,
  type ProxyMetrics,
} from './metrics.ts'
export { ProxyPlane, type ProxyStatus } from './plane.ts'
export type { ProxySettings } from './service-plans.ts'
