export { cleanupRoutes } from './ip-batch.ts'
export { createRoutesMetrics } from './metrics.ts'
export { RoutesPlane } from './plane.ts'
