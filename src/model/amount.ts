import { parseQuantity } from './quantity.ts'

/** A quantity that can be added and written again: in thousandths, with the kind of suffix that it is written with. */
export interface Amount {
  readonly thousandths: bigint
  readonly isBinary: boolean
}

/** Amounts by the names of resources. */
export type Amounts = ReadonlyMap<string, Amount>

/** Parses a quantity. Throws QuantityError. */
export function parseAmount(text: string): Amount {
  return { thousandths: parseQuantity(text), isBinary: text.endsWith('i') }
}

export function countAmount(count: number): Amount {
  return { thousandths: BigInt(count) * 1000n, isBinary: false }
}

/** Writes an amount in its canonical form: with the largest suffix that leaves a whole number. */
export function formatAmount({ thousandths, isBinary }: Amount): string {
  if (thousandths % 1000n !== 0n) return `${thousandths}m`
  const whole = thousandths / 1000n
  const size = whole < 0n ? -whole : whole
  return isBinary && size >= 1024n ? shorten(whole, 1024n, binarySuffixes) : shorten(whole, 1000n, decimalSuffixes)
}

const binarySuffixes = ['', 'Ki', 'Mi', 'Gi', 'Ti', 'Pi', 'Ei']
const decimalSuffixes = ['', 'k', 'M', 'G', 'T', 'P', 'E']

function shorten(whole: bigint, base: bigint, suffixes: readonly string[]): string {
  let [rest, step] = [whole, 0]
  while (rest !== 0n && rest % base === 0n && step + 1 < suffixes.length) {
    rest /= base
    step++
  }
  return `${rest}${suffixes[step]}`
}

/** Adds two amounts; the sum is written like the first, unless that is zero. */
export function addAmounts(one: Amount, other: Amount): Amount {
  const isBinary = one.thousandths === 0n ? other.isBinary : one.isBinary
  return { thousandths: one.thousandths + other.thousandths, isBinary }
}

export function sumAmounts(lists: readonly Amounts[]): Amounts {
  const sum = new Map<string, Amount>()
  for (const list of lists)
    for (const [name, amount] of list) {
      const known = sum.get(name)
      sum.set(name, known === undefined ? amount : addAmounts(known, amount))
    }
  return sum
}

/** Returns the larger amount of each resource. */
export function largestAmounts(one: Amounts, other: Amounts): Amounts {
  const largest = new Map(one)
  for (const [name, amount] of other) {
    const known = largest.get(name)
    if (known === undefined || known.thousandths < amount.thousandths) largest.set(name, amount)
  }
  return largest
}
