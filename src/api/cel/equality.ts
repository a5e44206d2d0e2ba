/** Whether two values of CEL are equal: maps and objects in any order, numbers across their types. */
export function isEqual(left: unknown, right: unknown): boolean {
  if (left === right) return true
  if (typeof left === 'bigint' || typeof left === 'number') {
    // biome-ignore lint/suspicious/noDoubleEquals: the one comparison of JavaScript that compares a bigint with a number
    return (typeof right === 'bigint' || typeof right === 'number') && left == right
  }
  if (typeof left !== 'object' || typeof right !== 'object' || left === null || right === null) return false
  if (Array.isArray(left)) {
    return (
      Array.isArray(right) && left.length === right.length && left.every((item, index) => isEqual(item, right[index]))
    )
  }
  if (left instanceof Map && right instanceof Map) {
    return (
      left.size === right.size && [...left].every(([key, value]) => right.has(key) && isEqual(value, right.get(key)))
    )
  }
  return left.constructor === right.constructor && String(left) === String(right)
}
