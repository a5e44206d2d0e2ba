import type { Directive } from '../../corefile/blocks.ts'
import { readArgs, refuseOptions } from '../../corefile/values.ts'

/** Reads `loop`. */
export function readLoop(directive: Directive): true {
  readArgs(directive, 0)
  refuseOptions(directive)
  return true
}
