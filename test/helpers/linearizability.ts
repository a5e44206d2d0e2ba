/** One operation on a register whose values are revisions, each written once. Times are of one clock. */
export interface RegisterOperation {
  readonly calledMs: number
  readonly answeredMs: number
  readonly effect:
    | { readonly kind: 'read'; readonly value: number }
    /** Written when `expected` stood there, or whatever stood there. */
    | { readonly kind: 'write'; readonly value: number; readonly expected?: number }
    /** Refused because something else than `expected` stood there. */
    | { readonly kind: 'conflict'; readonly expected: number }
}

/**
 * Whether the operations can be put in one order that agrees with the clock and with a register that starts at `initial` (search
 * after Wing and Gong, states that were tried before are not tried again). For histories of up to some hundred operations.
 */
export function isLinearizable(operations: readonly RegisterOperation[], initial: number): boolean {
  const tried = new Set<string>()
  const search = (left: readonly RegisterOperation[], value: number): boolean => {
    if (left.length === 0) return true
    const state = `${value} ${left.map((operation) => operations.indexOf(operation)).join()}`
    if (tried.has(state)) return false
    tried.add(state)
    const firstAnswerMs = Math.min(...left.map(({ answeredMs }) => answeredMs))
    return left.some((operation) => {
      const next = operation.calledMs <= firstAnswerMs ? valueAfter(operation, value) : undefined
      return (
        next !== undefined &&
        search(
          left.filter((other) => other !== operation),
          next,
        )
      )
    })
  }
  return search(operations, initial)
}

/** Undefined when the operation cannot have happened at that value. */
function valueAfter({ effect }: RegisterOperation, value: number): number | undefined {
  switch (effect.kind) {
    case 'read':
      return effect.value === value ? value : undefined
    case 'conflict':
      return effect.expected === value ? undefined : value
    case 'write':
      return effect.value > value && (effect.expected ?? value) === value ? effect.value : undefined
  }
}
