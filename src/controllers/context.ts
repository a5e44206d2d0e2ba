import type { Dialect } from '../model/dialect.ts'
import type { Logger } from '../observe/index.ts'
import type { Caches } from './runtime/caches.ts'
import type { EventRecorder } from './runtime/events.ts'
import type { ControllerMetrics } from './runtime/metrics.ts'
import type { Shapes } from './shapes.ts'

/** What every controller of one manager is made from. */
export interface ControllerContext {
  readonly caches: Caches
  readonly shapes: Shapes
  readonly dialect: Dialect
  readonly events: EventRecorder
  readonly metrics: ControllerMetrics
  readonly log: Logger
}
