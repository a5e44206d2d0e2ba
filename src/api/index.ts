export { readTokenFile } from './access/token-file.ts'
export { createApiServer } from './server.ts'
