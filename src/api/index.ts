export { createApiServer } from './server.ts'
