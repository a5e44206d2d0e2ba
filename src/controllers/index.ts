export { createControllerManager } from './controller-manager.ts'
export { controllerOptions } from './options.ts'
export { createControllerMetrics } from './runtime/metrics.ts'
