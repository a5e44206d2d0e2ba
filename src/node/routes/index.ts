export { cleanupRoutes } from './ip-batch.ts'
export { RoutesPlane } from './plane.ts'
