import fc from 'fast-check'

/** The bytes cut at the given places; cuts beyond the end do nothing. */
export function cutAt(bytes: Buffer, cuts: readonly number[]): Buffer[] {
  const places = [0, ...cuts.map((cut) => cut % (bytes.length + 1)).toSorted((a, b) => a - b), bytes.length]
  return places.slice(1).map((end, index) => bytes.subarray(places[index], end))
}

export const cuts = fc.array(fc.nat(100_000), { maxLength: 40 })

/** JSON objects with brackets, quotes, escapes and characters of up to four bytes in keys and strings. */
export const jsonObjects = fc.dictionary(
  fc.string({ unit: 'binary', maxLength: 6 }),
  fc.oneof(
    fc.jsonValue({ stringUnit: 'binary', maxDepth: 3 }),
    fc.constantFrom('{"items":[', '}]', '\\"', '\\', '"items":', 'ü€😀', '\n'),
  ),
  { maxKeys: 4 },
)
