export { createProxyMetrics } from './metrics.ts'
export { ProxyPlane, type ProxySettings, type ProxyStatus } from './plane.ts'
