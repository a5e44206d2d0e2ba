import type { Cidr } from '../../../../model/ip.ts'
import type { SourceLocation } from '../../corefile/errors.ts'

export interface LoadbalanceSettings {
  readonly policy: 'round_robin' | 'weighted'
  /** The file with the weights, and how often it is checked; only for `weighted`. */
  readonly file?: string
  readonly location: SourceLocation
  readonly reloadMs: number
  /** The networks whose addresses come first. */
  readonly prefer: readonly Cidr[]
}
