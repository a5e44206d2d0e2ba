import type { BaseContext } from './base-context.ts'
import type { DialectTypes } from './objects/types.ts'

/** The dependencies of every controller of one manager. */
export interface ControllerContext extends BaseContext {
  readonly types: DialectTypes
}
