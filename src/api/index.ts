export type { StaticToken } from './access/authenticate.ts'
export { type ApiServer, type ApiServerOptions, createApiServer } from './server.ts'
