/**
 * A copy of a map in the order of its keys with other values, `undefined` for those that go; the map itself where nothing differs. It
 * costs a walk over the map, and no sorting of it.
 */
export function withValues<Value>(
  map: ReadonlyMap<string, Value>,
  values: ReadonlyMap<string, Value | undefined>,
): ReadonlyMap<string, Value> {
  if (values.size === 0) return map
  const added = [...values].flatMap(([key, value]) => (value === undefined || map.has(key) ? [] : [key])).sort()
  const next = added.length === 0 ? new Map(map) : mergeKeys(map, added, values)
  for (const [key, value] of values) {
    if (value === undefined) next.delete(key)
    else next.set(key, value)
  }
  return next
}

/** Puts added keys between those of the map. */
function mergeKeys<Value>(
  map: ReadonlyMap<string, Value>,
  added: readonly string[],
  values: ReadonlyMap<string, Value | undefined>,
): Map<string, Value> {
  const next = new Map<string, Value>()
  let at = 0
  const addUntil = (end: string | undefined) => {
    for (let key = added[at]; key !== undefined && (end === undefined || key < end); key = added[++at]) {
      const value = values.get(key)
      if (value !== undefined) next.set(key, value)
    }
  }
  for (const [key, value] of map) {
    addUntil(key)
    next.set(key, value)
  }
  addUntil(undefined)
  return next
}
