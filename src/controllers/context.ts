import type { ControllerKit } from './kit.ts'
import type { Shapes } from './shapes.ts'

/** What every controller of one manager is made from; `shapes` are the light views that endpoints need. */
export interface ControllerContext extends ControllerKit {
  readonly shapes: Shapes
}
