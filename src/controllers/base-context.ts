import type { ApiClient, EventRecorder } from '../client/index.ts'
import type { Dialect } from '../model/dialect.ts'
import type { Logger } from '../observe/index.ts'
import type { Caches } from './runtime/caches.ts'
import type { ControllerMetrics } from './runtime/metrics.ts'

/** The dependencies of every controller and of the helpers in `objects/`. */
export interface BaseContext {
  readonly client: ApiClient
  readonly caches: Caches
  readonly dialect: Dialect
  readonly events: EventRecorder
  readonly metrics: ControllerMetrics
  readonly log: Logger
}
