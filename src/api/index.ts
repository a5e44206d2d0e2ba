export { isOpenToOthers, readTokenFile } from './access/token-file.ts'
export type { ApiLimits } from './limits.ts'
export { createApiServer } from './server.ts'
