export type { StaticToken } from './access/authenticate.ts'
export { createApiServer } from './server.ts'
