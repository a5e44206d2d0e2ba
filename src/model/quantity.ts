import { PlatnetError } from './errors.ts'

export class QuantityError extends PlatnetError<'invalid-quantity'> {
  constructor(text: string) {
    super(
      'invalid-quantity',
      `${JSON.stringify(text.slice(0, 64))} is not a quantity: expected a number such as 500m, 1.5, 2Gi or 1e3`,
    )
  }
}

const binary = ['', 'Ki', 'Mi', 'Gi', 'Ti', 'Pi', 'Ei']
const decimal = ['n', 'u', 'm', '', 'k', 'M', 'G', 'T', 'P', 'E']

const quantityText = /^([+-]?)(\d{0,40})(?:\.(\d{0,40}))?(?:([eE])([+-]?\d{1,3})|([numkMGTPE]|[KMGTPE]i))?$/

/** A quantity as it is written: `whole.fraction × 10^power × 2^binaryPower`. */
export interface QuantityParts {
  readonly isNegative: boolean
  readonly whole: string
  readonly fraction: string
  readonly power: number
  readonly binaryPower: number
  /** Whether its notation is that of an exponent (`1e3`). */
  readonly isExponent: boolean
}

/**
 * Parses a Kubernetes quantity (`500m`, `1.5`, `2Gi`, `1e3`) to thousandths, rounded up: 1 CPU is 1000, 1 Ki is 1,024,000. Throws QuantityError.
 */
export function parseQuantity(text: string): bigint {
  const parts = partsOfQuantity(text)
  if (parts === undefined) throw new QuantityError(text)
  const { whole, fraction, power, binaryPower, isNegative } = parts
  const value = BigInt(whole + fraction) * 2n ** BigInt(binaryPower)
  const magnitude = scaleUp(value, power - fraction.length + 3, isNegative)
  return isNegative ? -magnitude : magnitude
}

export function isQuantity(text: string): boolean {
  return partsOfQuantity(text) !== undefined
}

/** Returns the parts of a quantity; undefined for another text. */
export function partsOfQuantity(text: string): QuantityParts | undefined {
  const found = quantityText.exec(text)
  const [, sign, whole = '', fraction = '', mark, exponent, suffix = ''] = found ?? []
  const hasDigits = whole !== '' || fraction !== ''
  if (found === null || !hasDigits || Math.abs(Number(exponent ?? 0)) > 24) return undefined
  const power = Number(exponent ?? 0) + decimalPower(suffix)
  const binaryPower = Math.max(0, binary.indexOf(suffix)) * 10
  return { isNegative: sign === '-', whole, fraction, power, binaryPower, isExponent: mark !== undefined }
}

function decimalPower(suffix: string): number {
  const index = decimal.indexOf(suffix)
  return suffix.endsWith('i') || index < 0 ? 0 : (index - 3) * 3
}

/** Computes `value * 10^power`; a remainder rounds away from zero, unless the value counts as negative. */
function scaleUp(value: bigint, power: number, isNegative: boolean): bigint {
  if (power >= 0) return value * 10n ** BigInt(power)
  const divisor = 10n ** BigInt(-power)
  return (value + (isNegative ? 0n : divisor - 1n)) / divisor
}
