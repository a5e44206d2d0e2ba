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

const quantityText = /^([+-]?)(\d{0,20})(?:\.(\d{0,12}))?(?:([eE])([+-]?\d{1,3})|([numkMGTPE]|[KMGTPE]i))?$/

/**
 * Parses a Kubernetes quantity (`500m`, `1.5`, `2Gi`, `1e3`) to thousandths, rounded up: 1 CPU is 1000, 1 Ki is 1,024,000. Throws QuantityError.
 */
export function parseQuantity(text: string): bigint {
  const parts = partsOf(text)
  if (parts === undefined) throw new QuantityError(text)
  const [, sign, whole = '', fraction = '', , exponent, suffix = ''] = parts
  const power = Number(exponent ?? 0) + decimalPower(suffix) - fraction.length + 3
  const factor = 1024n ** BigInt(Math.max(0, binary.indexOf(suffix)))
  const magnitude = scaleUp(BigInt(whole + fraction) * factor, power, sign === '-')
  return sign === '-' ? -magnitude : magnitude
}

export function isQuantity(text: string): boolean {
  return partsOf(text) !== undefined
}

function partsOf(text: string): RegExpExecArray | undefined {
  const parts = quantityText.exec(text)
  const [, , whole = '', fraction = '', , exponent] = parts ?? []
  const hasDigits = whole !== '' || fraction !== ''
  return parts !== null && hasDigits && Math.abs(Number(exponent ?? 0)) <= 24 ? parts : undefined
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
