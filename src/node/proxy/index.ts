export { createProxyMetrics, type ProxyMetrics } from './metrics.ts'
export { ProxyPlane, type ProxyStatus, planeName } from './plane.ts'
export type { ProxySettings } from './service-plans.ts'
