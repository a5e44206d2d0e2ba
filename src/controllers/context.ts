import type { ControllerKit } from './kit.ts'
import type { DialectTypes } from './objects/types.ts'

/** What every controller of one manager is made from. */
export interface ControllerContext extends ControllerKit {
  readonly types: DialectTypes
}
