export { isOpenToOthers, readTokenFile } from './access/token-file.ts'
export { type ApiLimits, defaultLimits } from './limits.ts'
export { createApiServer } from './server.ts'
