export { type ControllerManagerParts, createControllerManager, createSchedulerManager } from './controller-manager.ts'
export { type ControllerMetrics, createControllerMetrics } from './runtime/metrics.ts'
