import type { Cidr } from '../../../../model/ip.ts'
import type { SourceLocation } from '../../corefile/errors.ts'

export interface LoadbalanceSettings {
  readonly policy: 'round_robin' | 'weighted'
  /** Of `weighted`: the file with the weights, and how often it is looked at. */
  readonly file?: string
  readonly location: SourceLocation
  readonly reloadMs: number
  /** Networks whose addresses come first. */
  readonly prefer: readonly Cidr[]
}
