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
const maxOffset = 2n ** 47n

/**
 * Returns a free number: it tries a few random probes of the dynamic band, which suffice while most of it is free, then scans from a random
 * place: allocations at the same time, here and at other servers, must not all choose the same number. `pickBelow` gives a random integer below
 * its argument (at most 2^48). Returns undefined when every number is taken.
 */
export async function findFree(
  band: Band,
  isTaken: (value: bigint) => Promise<boolean>,
  listTaken: () => Promise<ReadonlySet<bigint>>,
  pickBelow: (limit: number) => number,
): Promise<bigint | undefined> {
  for (let probe = 0; probe < probes && band.dynamicFirst <= band.last; probe++) {
    const value = randomPlace(band.dynamicFirst, band.last, pickBelow)
    if (!band.reserved.has(value) && !(await isTaken(value))) return value
  }
  return scan(band, await listTaken(), pickBelow)
}

function scan(
  { first, dynamicFirst, last, reserved }: Band,
  taken: ReadonlySet<bigint>,
  pickBelow: (limit: number) => number,
): bigint | undefined {
  const isFree = (value: bigint) => !taken.has(value) && !reserved.has(value)
  return (
    findFrom(randomPlace(dynamicFirst, last, pickBelow), { first: dynamicFirst, last }, isFree) ??
    findFrom(randomPlace(first, dynamicFirst - 1n, pickBelow), { first, last: dynamicFirst - 1n }, isFree)
  )
}

function randomPlace(first: bigint, last: bigint, pickBelow: (limit: number) => number): bigint {
  const width = last - first + 1n
  const limit = width > maxOffset ? maxOffset : width
  return limit > 0n ? first + BigInt(pickBelow(Number(limit))) : first
}

/** Looks at all numbers of the range, at those after `start` first. */
function findFrom(
  start: bigint,
  { first, last }: Pick<Band, 'first' | 'last'>,
  isFree: (value: bigint) => boolean,
): bigint | undefined {
  for (let value = start; value <= last; value++) if (isFree(value)) return value
  for (let value = first; value < start; value++) if (isFree(value)) return value
  return undefined
}
