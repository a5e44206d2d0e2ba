import { runtimeType } from '../library/conversions.ts'
import { GrowingList, ItemList } from '../values/lists.ts'
import { CelError, ListValue, MapValue, type Value } from '../values/values.ts'
import type { Frame, Step } from './frame.ts'

/** A loop with all parts planned. */
export interface FoldPlan {
  readonly range: Step
  readonly condition: Step
  readonly step: Step
  readonly result: Step
  /** The slots of the accumulator and of the variables. */
  readonly accuSlot: number
  readonly firstSlot: number
  /** The slot of the second variable; where it is present the first variable is the index or key. */
  readonly secondSlot: number | undefined
}

/** Returns the step of a macro's loop. The accumulator is initialised on its first use. */
export function foldStep(plan: FoldPlan): Step {
  return (frame) => {
    frame.slots[plan.accuSlot] = undefined
    const values = plan.range(frame)
    if (values instanceof CelError) return values
    const pairs = plan.secondSlot === undefined ? singles(values) : pairsOf(values)
    if (pairs instanceof CelError) return pairs
    loop(plan, pairs, frame)
    const made = plan.result(frame)
    return made instanceof GrowingList ? new ItemList([...made]) : made
  }
}

function loop({ condition, step, accuSlot, firstSlot, secondSlot }: FoldPlan, pairs: Pairs, frame: Frame): void {
  const { slots } = frame
  for (const [first, second] of pairs) {
    slots[firstSlot] = first
    if (secondSlot !== undefined) slots[secondSlot] = second
    if (condition(frame) === false) return
    slots[accuSlot] = step(frame)
  }
}

type Pairs = Iterable<readonly [first: Value, second: Value]>

function singles(values: Value): Pairs | CelError {
  if (values instanceof ListValue) return alone(values)
  if (values instanceof MapValue) return alone(values.keys())
  return new CelError(`got '${goType(values)}', expected iterable type`)
}

function* alone(values: Iterable<Value>): Generator<readonly [Value, Value], undefined> {
  for (const value of values) yield [value, null]
}

function pairsOf(values: Value): Pairs | CelError {
  if (values instanceof ListValue) return [...values].map((item, index) => [BigInt(index), item] as const)
  if (values instanceof MapValue) return [...values.keys()].map((key) => [key, values.find(key) ?? null] as const)
  return new CelError(`unsupported comprehension range type: ${goType(values)}`)
}

/** Returns Go's name for the type of a value. */
function goType(value: Value): string {
  const name = runtimeType(value)
    .name.replace(/^google\.protobuf\./, '')
    .replace(/_type$/, '')
  return `types.${name.charAt(0).toUpperCase()}${name.slice(1)}`
}
