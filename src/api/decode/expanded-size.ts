import { badRequest, StatusError } from '../status.ts'

interface Expanded {
  /** The approximate length of the value as JSON, in characters. */
  readonly length: number
  readonly depth: number
}

export interface ExpansionLimits {
  readonly maxLength: number
  readonly maxDepth: number
}

/**
 * Refuses a value whose JSON would be too long or too deep because it shares parts, as YAML aliases do: 90 aliases of one text of 3 MB are 264
 * MB of JSON. Each part is measured once, however often it is shared. Throws a 413, or a 400 for too many levels or for a part that contains
 * itself.
 */
export function assertExpansion(value: unknown, limits: ExpansionLimits): void {
  measure(value, new Map(), limits)
}

/** Measures a value; `measured` holds undefined for an object whose measurement has not ended. */
function measure(value: unknown, measured: Map<object, Expanded | undefined>, limits: ExpansionLimits): Expanded {
  if (typeof value !== 'object' || value === null) return { length: scalarLength(value), depth: 0 }
  const known = measured.get(value)
  if (known !== undefined) return known
  if (measured.has(value))
    throw badRequest('the body of the request is not valid YAML: an alias stands inside its own anchor')
  measured.set(value, undefined)
  let length = 2
  let depth = 0
  for (const [key, each] of Object.entries(value)) {
    const part = measure(each, measured, limits)
    length += part.length + (Array.isArray(value) ? 1 : key.length + 4)
    depth = Math.max(depth, part.depth)
  }
  const expanded = { length, depth: depth + 1 }
  assertWithin(expanded, limits)
  measured.set(value, expanded)
  return expanded
}

function scalarLength(value: unknown): number {
  return typeof value === 'string' ? value.length + 2 : String(value).length
}

function assertWithin({ length, depth }: Expanded, { maxLength, maxDepth }: ExpansionLimits): void {
  if (depth > maxDepth) throw badRequest(`the body of the request is nested more than ${maxDepth} levels deep`)
  if (length <= maxLength) return
  const message = `Request entity too large: the aliases of the YAML expand it, limit is ${maxLength}`
  throw new StatusError('RequestEntityTooLarge', message)
}
