import type { CostMeter } from '../values/cost-meter.ts'
import type { Value } from '../values/values.ts'

/** What one evaluation works with: its variables, by the places that the plan gave them. */
export interface Frame {
  readonly slots: (Value | undefined)[]
  readonly meter: CostMeter
}

export type Step = (frame: Frame) => Value
