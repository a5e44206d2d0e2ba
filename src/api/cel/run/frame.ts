import type { CostMeter } from '../values/cost-meter.ts'
import type { Value } from '../values/values.ts'

/** The state of one evaluation: its variables, by the slots that the plan assigned. */
export interface Frame {
  readonly slots: (Value | undefined)[]
  readonly meter: CostMeter
}

export type Step = (frame: Frame) => Value
