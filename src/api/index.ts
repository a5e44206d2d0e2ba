export type { StaticToken, User } from './access/authenticate.ts'
export type { PortRange } from './allocation/pools.ts'
export type { HealthCheck } from './health-report.ts'
export { type ApiServer, type ApiServerOptions, createApiServer } from './server.ts'
