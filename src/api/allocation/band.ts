/** A range of numbers to allocate, `first` to `last`; automatic choice begins at `dynamicFirst` and falls back below it. */
export interface Band {
  readonly first: bigint
  readonly dynamicFirst: bigint
  readonly last: bigint
  /** Numbers that automatic choice never takes. */
  readonly reserved: ReadonlySet<bigint>
}

export interface StaticBandRule {
  readonly min: number
  readonly max: number
  /** The divisor of the range size that gives the size of the static band. */
  readonly step: number
}

/**
 * Returns how many numbers at the start are reserved for explicit requests, so that those seldom collide with automatic ones; none in a range that is
 * too small.
 */
export function staticBandSize(size: bigint, { min, max, step }: StaticBandRule): bigint {
  if (size < BigInt(min)) return 0n
  const share = size / BigInt(step)
  if (share < BigInt(min)) return BigInt(min)
  return share > BigInt(max) ? BigInt(max) : share
}

const probes = 8

/**
 * Returns a free number: it tries a few random probes of the dynamic band, which suffice while most of it is free, then scans. `pickBelow` gives a
 * random integer below its argument (at most 2^48). Returns undefined when every number is taken.
 */
export async function findFree(
  band: Band,
  isTaken: (value: bigint) => Promise<boolean>,
  listTaken: () => Promise<ReadonlySet<bigint>>,
  pickBelow: (limit: number) => number,
): Promise<bigint | undefined> {
  const width = band.last - band.dynamicFirst + 1n
  const offsetLimit = Number(width > 2n ** 47n ? 2n ** 47n : width)
  for (let probe = 0; probe < probes && offsetLimit > 0; probe++) {
    const value = band.dynamicFirst + BigInt(pickBelow(offsetLimit))
    if (!band.reserved.has(value) && !(await isTaken(value))) return value
  }
  return scan(band, await listTaken())
}

function scan(band: Band, taken: ReadonlySet<bigint>): bigint | undefined {
  const isFree = (value: bigint) => !taken.has(value) && !band.reserved.has(value)
  for (let value = band.dynamicFirst; value <= band.last; value++) if (isFree(value)) return value
  for (let value = band.first; value < band.dynamicFirst; value++) if (isFree(value)) return value
  return undefined
}
