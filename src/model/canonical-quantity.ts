import { partsOfQuantity, QuantityError, type QuantityParts } from './quantity.ts'

/** The number of decimals: a quantity is exact to 10^-9. */
const nanoDigits = 9
const largestBinary = 2n ** 63n - 1n
/** The number of digits up to which Kubernetes keeps a text that is in canonical form already. */
const keptDigits = 18

/**
 * Returns a quantity in the form in which Kubernetes stores and shows it: without a fraction, with the largest suffix that keeps it exact (`1.5Gi` is
 * `1536Mi`, `1000m` is `1`, `0.5` is `500m`), rounded away from zero to billionths. Decimal, binary and exponent notation stay what they are. A text
 * that is in that form already stays as it is written, leading zeros included. What has no suffix (`1000E`) stays too. Throws QuantityError.
 */
export function canonicalQuantity(text: string): string {
  const parts = partsOfQuantity(text)
  if (parts === undefined) throw new QuantityError(text)
  if (isKept(parts)) return text
  const billionths = billionthsOf(parts)
  const sign = parts.isNegative ? '-' : ''
  if (billionths === 0n) return '0'
  if (parts.binaryPower > 0) {
    const whole = billionths / 10n ** 9n
    if (whole >= largestBinary) return `${sign}${largestBinary}`
    if (whole * 10n ** 9n === billionths && whole >= 1024n) return sign + withBinarySuffix(whole)
  }
  const canonical = withDecimalSuffix(billionths, parts.isExponent)
  return canonical === undefined ? text : sign + canonical
}

function isKept({ whole, fraction, power, binaryPower }: QuantityParts): boolean {
  const significant = whole.replace(/^0+/, '')
  if (binaryPower > 0) {
    const isShort = significant.length + Math.floor(binaryPower / 10) * 3 <= 14
    return fraction === '' && isShort && Number(significant.slice(-3)) % 8 !== 0
  }
  const digits = significant + fraction
  const scale = power - fraction.length
  const isExact = scale >= -nanoDigits && scale % 3 === 0 && digits.length <= keptDigits
  return isExact && significant !== '' && !digits.endsWith('000')
}

/** Returns the absolute value in 10^-9, rounded up. */
function billionthsOf({ whole, fraction, power, binaryPower }: QuantityParts): bigint {
  const digits = BigInt(whole + fraction) * 2n ** BigInt(binaryPower)
  const scale = power - fraction.length + nanoDigits
  if (scale >= 0) return digits * 10n ** BigInt(scale)
  const divisor = 10n ** BigInt(-scale)
  return (digits + divisor - 1n) / divisor
}

function withBinarySuffix(whole: bigint): string {
  let [amount, times] = [whole, 0]
  for (; amount >= 1024n && amount % 1024n === 0n; times += 1) amount /= 1024n
  return `${amount}${['', 'Ki', 'Mi', 'Gi', 'Ti', 'Pi', 'Ei'][times]}`
}

const decimalSuffixes = ['n', 'u', 'm', '', 'k', 'M', 'G', 'T', 'P', 'E']

/** Returns the amount with its suffix, or with its exponent; undefined where the suffix is missing. */
function withDecimalSuffix(billionths: bigint, isExponent: boolean): string | undefined {
  let [amount, thousands] = [billionths, 0]
  for (; amount % 1000n === 0n; thousands += 1) amount /= 1000n
  const exponent = thousands * 3 - nanoDigits
  if (isExponent) return exponent === 0 ? String(amount) : `${amount}e${exponent}`
  const suffix = decimalSuffixes[thousands]
  return suffix === undefined ? undefined : `${amount}${suffix}`
}
