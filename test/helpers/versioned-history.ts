/** One operation on a key whose versions are known and in one order, as those of a store with revisions. Times are of one clock. */
export interface VersionedOperation {
  readonly key: string
  readonly calledMs: number
  /** Infinity where no answer came: the operation may have happened at any later time. */
  readonly answeredMs: number
  readonly effect:
    | { readonly kind: 'read'; readonly version: number; readonly value: string }
    | { readonly kind: 'write'; readonly version: number; readonly value: string; readonly expected: number }
    /** Refused because another version than `expected` stood there. */
    | { readonly kind: 'conflict'; readonly expected: number }
}

/** One version of a key, as a watch showed it. */
export interface ShownVersion {
  readonly key: string
  readonly version: number
  readonly value: string
}

/**
 * Returns what contradicts that each operation happened at one moment between its call and its answer (linearizability, per key). The watch
 * gives the order of writes, so no search is needed: an operation may not show an older version than one that was answered before its call.
 */
export function findAnomalies(operations: readonly VersionedOperation[], shown: readonly ShownVersion[]): string[] {
  const keys = new Set(operations.map(({ key }) => key))
  return [...keys].flatMap((key) =>
    findAnomaliesOfKey(
      operations.filter((operation) => operation.key === key),
      shown.filter((version) => version.key === key),
    ),
  )
}

function findAnomaliesOfKey(operations: readonly VersionedOperation[], shown: readonly ShownVersion[]): string[] {
  const values = new Map(shown.map(({ version, value }) => [version, value]))
  const order = shown.map(({ version }) => version)
  const found = operations.flatMap((operation) => {
    const { effect, key } = operation
    if (effect.kind === 'conflict') return findFalseConflict(operation, operations, order)
    const wrong = values.get(effect.version) !== effect.value
    const previous = order[order.indexOf(effect.version) - 1] ?? 0
    const isBlind = effect.kind === 'write' && previous !== effect.expected
    return [
      ...(wrong
        ? [`${key}: version ${effect.version} was ${effect.value}, the watch showed ${values.get(effect.version)}`]
        : []),
      ...(isBlind ? [`${key}: version ${effect.version} replaced ${previous}, not ${effect.expected}`] : []),
    ]
  })
  return [...found, ...findStale(operations)]
}

/** A conflict is true only when another version may have stood there before its answer. */
function findFalseConflict(
  { key, answeredMs, effect }: VersionedOperation,
  operations: readonly VersionedOperation[],
  order: readonly number[],
): string[] {
  if (effect.kind !== 'conflict') return []
  const next = order[order.indexOf(effect.expected) + 1]
  const writer = operations.find((other) => other.effect.kind === 'write' && other.effect.version === next)
  if (next !== undefined && (writer === undefined || writer.calledMs < answeredMs)) return []
  return [`${key}: a conflict with version ${effect.expected} while nothing had replaced it`]
}

/** Finds operations that show an older version than one that was answered before their call. */
function findStale(operations: readonly VersionedOperation[]): string[] {
  const versioned = operations.flatMap((operation) =>
    operation.effect.kind === 'conflict' ? [] : [{ ...operation, version: operation.effect.version }],
  )
  const answered = versioned.toSorted((a, b) => a.answeredMs - b.answeredMs)
  let newest = 0
  let index = 0
  return versioned
    .toSorted((a, b) => a.calledMs - b.calledMs)
    .flatMap(({ key, calledMs, version, effect }) => {
      for (let next = answered[index]; next !== undefined && next.answeredMs < calledMs; next = answered[++index]) {
        newest = Math.max(newest, next.version)
      }
      const isStale = effect.kind === 'write' ? version <= newest : version < newest
      return isStale ? [`${key}: a ${effect.kind} of version ${version} after version ${newest} was answered`] : []
    })
}
