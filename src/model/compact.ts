/** The empty list of every object, of which most have several. */
export const none: readonly never[] = []

/** A list that grew has room for more; one that is kept for long should not. */
export function compact<Value>(values: readonly Value[]): readonly Value[] {
  return values.length === 0 ? none : values.slice()
}
