import type { ApiDocument } from '../document.ts'
import type { Target } from '../request/request.ts'
import type { Transition } from '../resources/resource.ts'

/** One object's change: from `old`, stored at `revision` (0: not stored), to `next` (absent: deleted). */
export interface Change extends Transition {
  readonly target: Target
  readonly name: string
  readonly revision: number
}

export type ChangeResult =
  | {
      readonly kind: 'done'
      readonly next: ApiDocument | undefined
      readonly revision: number
      /** The text that the store keeps now; absent where nothing was written. */
      readonly storedText?: string
    }
  /** Another client has changed the object. */
  | { readonly kind: 'outdated' }
