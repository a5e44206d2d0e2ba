import { z } from 'zod'
import { optional, otherwise } from '../runtime/metadata.ts'
import type { Taint } from './node.ts'

export const tolerationSchema = z.looseObject({
  key: otherwise(z.string(), ''),
  operator: otherwise(z.enum(['Equal', 'Exists']), 'Equal'),
  value: otherwise(z.string(), ''),
  effect: otherwise(z.string(), ''),
  tolerationSeconds: optional(z.number()),
})

export type Toleration = z.output<typeof tolerationSchema>

/** Returns the first taint with one of the given effects that no toleration covers. */
export function untoleratedTaint(
  taints: readonly Taint[],
  tolerations: readonly Toleration[],
  effects: readonly Taint['effect'][],
): Taint | undefined {
  return taints.find((taint) => effects.includes(taint.effect) && !tolerations.some((one) => tolerates(one, taint)))
}

export function tolerates({ key, operator, value, effect }: Toleration, taint: Taint): boolean {
  if (effect !== '' && effect !== taint.effect) return false
  if (key === '') return operator === 'Exists'
  return key === taint.key && (operator === 'Exists' || value === taint.value)
}

const tolerationsSchema = otherwise(z.array(tolerationSchema), [])

/** Reads the tolerations of a pod's spec; none if they are invalid, which the scheduler reports. */
export function tolerationsOf(spec: { readonly tolerations?: unknown }): readonly Toleration[] {
  const parsed = tolerationsSchema.safeParse(spec.tolerations)
  return parsed.success ? parsed.data : []
}
