export { type ControllerManagerParts, createControllerManager, createSchedulerManager } from './controller-manager.ts'
export { controllerOptions } from './options.ts'
export { type ControllerMetrics, createControllerMetrics } from './runtime/metrics.ts'
