import { type Amount, type Amounts, largestAmounts, parseAmount, sumAmounts } from './amount.ts'
import { isObject, type Json, type JsonObject } from './api-object.ts'

type Side = 'requests' | 'limits'

/**
 * Returns what a Pod requests, or is limited to, as a whole: the sum of its containers, at least what its init
 * containers need one after the other, or what the Pod itself says (KEP-2837).
 */
export function podAmounts(spec: Json | undefined, side: Side): Amounts {
  const containers = sumAmounts(listOf(spec, 'containers').map((container) => amountsOf(container, side)))
  let sidecars: Amounts = new Map()
  let beginning: Amounts = new Map()
  for (const container of listOf(spec, 'initContainers')) {
    const own = amountsOf(container, side)
    const isSidecar = fieldOf(container, 'restartPolicy') === 'Always'
    if (isSidecar) sidecars = sumAmounts([sidecars, own])
    beginning = largestAmounts(beginning, isSidecar ? sidecars : sumAmounts([own, sidecars]))
  }
  const all = largestAmounts(sumAmounts([containers, sidecars]), beginning)
  return new Map([...all, ...amountsOf(spec, side)])
}

/** Returns the amounts in `resources` of a container or of a Pod's spec. */
export function amountsOf(owner: Json | undefined, side: Side): Amounts {
  return readAmounts(fieldOf(fieldOf(owner, 'resources'), side))
}

export function readAmounts(value: Json | undefined): Amounts {
  if (!isObject(value)) return new Map()
  return new Map(Object.entries(value).map(([name, text]): [string, Amount] => [name, parseAmount(String(text))]))
}

function listOf(owner: Json | undefined, field: string): readonly Json[] {
  const list = fieldOf(owner, field)
  return Array.isArray(list) ? list : []
}

function fieldOf(owner: Json | undefined, field: string): Json | undefined {
  return isObject(owner) ? (owner as JsonObject)[field] : undefined
}
